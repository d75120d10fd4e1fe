package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	redisTTL = 30 * time.Second
	// redisPoll is the mean pause between tries, because Redis does not notify callers that a lock is free.
	redisPoll = 50 * time.Millisecond
)

// The script that Redis' documentation gives for releasing a lock: it never deletes another caller's.
var redisRelease = redis.NewScript(
	`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`)

type redisLocks struct{ client *redis.Client }

func connectRedis(o options) System {
	return &redisLocks{redis.NewClient(&redis.Options{Addr: o.address, PoolSize: o.callers})}
}

func (r *redisLocks) Caller(context.Context, int) (Locks, error) { return r, nil }

func (r *redisLocks) SetLimit(context.Context, string, uint32) error { return errNoSemaphores }

func (r *redisLocks) Acquire(ctx context.Context, name string) (string, error) {
	token := rand.Text()
	err := poll(ctx, redisPoll, func() (bool, error) {
		answer := r.client.SetArgs(ctx, name, token, redis.SetArgs{Mode: "NX", TTL: redisTTL})
		if answer.Err() == redis.Nil {
			return false, nil
		}
		return answer.Err() == nil, answer.Err()
	})
	return name + "\n" + token, err
}

func (r *redisLocks) Release(ctx context.Context, held string) error {
	name, token, _ := strings.Cut(held, "\n")
	deleted, err := redisRelease.Run(ctx, r.client, []string{name}, token).Int()
	if err == nil && deleted != 1 {
		return fmt.Errorf("the lock was lost before it was released")
	}
	return err
}
