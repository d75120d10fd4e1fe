// The conformance driver is a module of its own, so that users of the client do not depend on its MySQL driver.
module github.com/rowlock/rowlock/clients/go/conformance

go 1.24.0

require (
	github.com/go-sql-driver/mysql v1.10.1
	github.com/rowlock/rowlock/clients/go v0.1.0
	golang.org/x/sys v0.41.0
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260120221211-b8f7ae30c516
)

require (
	filippo.io/edwards25519 v1.2.0 // indirect
	golang.org/x/net v0.50.0 // indirect
	golang.org/x/text v0.34.0 // indirect
	google.golang.org/grpc v1.80.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace github.com/rowlock/rowlock/clients/go => ../
