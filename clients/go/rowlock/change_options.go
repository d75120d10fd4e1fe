package rowlock

import "github.com/rowlock/rowlock/clients/go/rowlockv1"

// VersionOption is [IfVersion]: a [LimitOption], an [UpdateOption], and the option of [Client.DeleteRecord].
type VersionOption struct {
	version uint64
}

// IfVersion makes a change of a limit or of a lock's record only if that has this version, or for 0 only if there is
// none. Otherwise the change fails with [ErrVersionMismatch].
func IfVersion(version uint64) VersionOption {
	return VersionOption{version}
}

func (o VersionOption) ofLimit(request *rowlockv1.SetLimitRequest) {
	request.ExpectedVersion = &o.version
}

func (o VersionOption) ofUpdate(options *updateOptions) { options.version = &o.version }
