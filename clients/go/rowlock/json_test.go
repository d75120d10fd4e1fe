// The names of JSON, for programs that log or return what this package tells them.

package rowlock_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/clients/go/rowlock"
)

// withoutJSON are structs that no JSON can show: they hold functions, locks or keys.
var withoutJSON = map[string]bool{"Config": true, "Captured": true}

// jsonNameOf is the name of a field in lower camel case, with the unit of a duration.
func jsonNameOf(field string, isDuration bool) string {
	if strings.HasSuffix(field, "ID") {
		field = strings.TrimSuffix(field, "ID") + "Id"
	}
	field = strings.ReplaceAll(field, "TTL", "Ttl")
	if isDuration {
		field += "Ns"
	}
	return strings.ToLower(field[:1]) + field[1:]
}

func TestEachExportedFieldHasAJSONName(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	fields := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(node ast.Node) bool {
			named, isType := node.(*ast.TypeSpec)
			if !isType || !named.Name.IsExported() || withoutJSON[named.Name.Name] {
				return true
			}
			of, isStruct := named.Type.(*ast.StructType)
			if !isStruct {
				return true
			}
			for _, field := range of.Fields.List {
				for _, name := range field.Names {
					if !name.IsExported() {
						continue
					}
					fields++
					tag := ""
					if field.Tag != nil {
						tag, _, _ = strings.Cut(reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Get("json"), ",")
					}
					isDuration := string(text[field.Type.Pos()-1:field.Type.End()-1]) == "time.Duration"
					if wanted := jsonNameOf(name.Name, isDuration); tag != wanted && tag != "-" {
						t.Errorf("%s.%s is %q in JSON, and not %q", named.Name.Name, name.Name, tag, wanted)
					}
				}
			}
			return true
		})
	}
	if fields < 100 {
		t.Error("it has looked at fields:", fields)
	}
}

func TestAPlaceInJSON(t *testing.T) {
	t.Parallel()
	for wanted, shown := range map[string]any{
		`{"ahead":2,"permitsAhead":"3","queueLength":4,"waitedNs":5000000000,"rateWaitNs":0,"pool":"a/*","waitsFor":"b"}`: rowlock.Place{
			Ahead: 2, Pool: "a/*", PermitsAhead: 3, QueueLength: 4, Waited: 5 * time.Second, WaitsFor: "b",
		},
		`{"permits":5,"perNs":60000000000,"burst":2,"source":"name","pattern":"","version":"9","reason":"","available":1}`: rowlock.RateView{
			Rate: rowlock.Rate{Permits: 5, Per: time.Minute, Burst: 2}, Source: rowlock.FromName, Version: 9, Available: 1,
		},
		`{"leaseId":"l","name":"a","token":"9007199254740993","ttlNs":1000000000}`: rowlock.RenewedLease{
			LeaseID: "l", Name: "a", Token: 1<<53 + 1, TTL: time.Second,
		},
		`{"leaseId":"l","name":"a","token":"1","ttlNs":0,"also":[{"lockName":"b","mode":"shared","permits":1,"token":"2"}]}`: rowlock.RenewedLease{
			LeaseID: "l", Name: "a", Token: 1, Also: []rowlock.ClaimedLock{{LockName: "b", Mode: rowlock.Shared, Permits: 1, Token: 2}},
		},
		`{"attemptsLeft":1,"status":"new","failures":3,"version":"2"}`: rowlock.RecordView{AttemptsLeft: 1, Status: "new", Failures: 3, Version: 2},
	} {
		if text, err := json.Marshal(shown); err != nil || string(text) != wanted {
			t.Errorf("%s, and not %s: %v", text, wanted, err)
		}
	}
}
