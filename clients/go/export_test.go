package rowlock

import "time"

// ConnectWithClock is Connect with a clock of the test's own.
func ConnectWithClock(config Config, now func() time.Duration) (*Client, error) {
	config, err := config.checked()
	if err != nil {
		return nil, err
	}
	return newClient(config, now), nil
}
