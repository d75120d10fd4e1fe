package main

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// grpcConnections opens as many as the callers share.
func grpcConnections(o options) ([]*grpc.ClientConn, error) {
	connections := make([]*grpc.ClientConn, o.connections)
	for index := range connections {
		connection, err := grpc.NewClient(o.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return nil, err
		}
		connections[index] = connection
	}
	return connections, nil
}
