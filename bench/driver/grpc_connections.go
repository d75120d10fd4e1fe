package main

import (
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// grpcConnections opens the connections that the callers share, to each server in turn if there are several.
func grpcConnections(o options) ([]*grpc.ClientConn, error) {
	addresses := strings.Split(o.address, ",")
	connections := make([]*grpc.ClientConn, o.connections)
	for index := range connections {
		connection, err := grpc.NewClient(addresses[index%len(addresses)], grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return nil, err
		}
		connections[index] = connection
	}
	return connections, nil
}
