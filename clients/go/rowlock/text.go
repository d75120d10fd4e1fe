// Text that cannot be sent as it is. The protocol has UTF-8 only. To repair text would make one name of two.

package rowlock

import (
	"fmt"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"
)

const notUTF8 = "is not valid UTF-8, so it cannot be sent as it is: encode it as UTF-8, or choose another text"

// wrongText is the error for a request that has text which is not UTF-8; nil: all of it is. Callers ask before they need
// a connection.
func wrongText(request proto.Message) *Error {
	err := newError(ErrBadRequest, codes.InvalidArgument, "")
	// The functions fail nowhere, so Range does not.
	_ = protorange.Range(request.ProtoReflect(), func(path protopath.Values) error {
		last := path.Index(-1)
		if step := last.Step; step.Kind() == protopath.MapIndexStep {
			err.findText(path, step.MapIndex().Interface())
		}
		if last.Value.IsValid() {
			err.findText(path, last.Value.Interface())
		}
		return nil
	})
	if len(err.Violations) == 0 {
		return nil
	}
	err.Message = err.Violations[0].Field + ": " + err.Violations[0].Description
	return err
}

// findText adds a violation if the value is text that is not UTF-8.
func (e *Error) findText(path protopath.Values, value any) {
	text, isText := value.(string)
	if !isText || utf8.ValidString(text) {
		return
	}
	field := ""
	for _, step := range path.Path {
		if step.Kind() == protopath.FieldAccessStep {
			field = string(step.FieldDescriptor().Name())
		}
	}
	e.Violations = append(e.Violations, Violation{field, fmt.Sprintf("%q %s", text, notUTF8)})
}
