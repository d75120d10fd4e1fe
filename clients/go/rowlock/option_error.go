package rowlock

import "fmt"

// OptionError is an option or an argument that cannot work. Nothing was sent to a server.
type OptionError struct {
	Option  string
	Problem string
}

func (e *OptionError) Error() string {
	return fmt.Sprintf("rowlock: %s: %s", e.Option, e.Problem)
}

func mistake(option, problem string) error {
	return &OptionError{option, problem}
}
