// The conformance driver is a module of its own, so that users of the client do not depend on its MySQL driver.
module github.com/rowlock/rowlock/clients/go/conformance

go 1.26.0

require (
	github.com/go-sql-driver/mysql v1.10.1
	github.com/rowlock/rowlock/clients/go v0.1.0
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260817212433-ac3dfec99bb1
)

require (
	filippo.io/edwards25519 v1.2.0 // indirect
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	golang.org/x/text v0.42.0 // indirect
	google.golang.org/grpc v1.85.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace github.com/rowlock/rowlock/clients/go => ../
