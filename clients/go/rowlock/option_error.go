package rowlock

import "fmt"

// OptionError is an option or an argument that cannot work. Nothing was sent to a server.
type OptionError struct {
	Option  string `json:"option"`
	Problem string `json:"problem"`
	// Others are further options of the same call that cannot work.
	Others []*OptionError `json:"others"`
}

func (e *OptionError) Error() string {
	text := fmt.Sprintf("rowlock: %s: %s", e.Option, e.Problem)
	for _, other := range e.Others {
		text += fmt.Sprintf("; %s: %s", other.Option, other.Problem)
	}
	return text
}

func mistake(option, problem string) error {
	return &OptionError{Option: option, Problem: problem}
}

// faults collects all that is wrong with the options of one call.
type faults []*OptionError

func (f *faults) add(option, problem string) {
	*f = append(*f, &OptionError{Option: option, Problem: problem})
}

// err is one error for all faults; nil if there are none.
func (f faults) err() error {
	if len(f) == 0 {
		return nil
	}
	f[0].Others = f[1:]
	return f[0]
}
