package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/clawhost/clawhost/sdk"
)

// cupboard is what the host of mortals keeps for them.
type cupboard struct {
	mu     sync.Mutex
	values map[string][]byte
}

// wish is what a mortal asks of its host's cupboard.
type wish struct {
	Do    string // "put", "get", "delete" or "list"
	Key   string
	Value []byte
}

// ServeHTTP implements http.Handler.
func (s *cupboard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked wish
	if json.NewDecoder(r.Body).Decode(&asked) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch asked.Do {
	case "put":
		s.values[asked.Key] = asked.Value
	case "delete":
		delete(s.values, asked.Key)
	case "get":
		_, _ = w.Write(s.values[asked.Key])
	case "list":
		keys := slices.DeleteFunc(slices.Sorted(maps.Keys(s.values)), func(key string) bool { return !strings.HasPrefix(key, asked.Key) })
		_ = json.NewEncoder(w).Encode(keys)
	}
}

// keeper is a mortal's side of the cupboard.
type keeper struct {
	sdk.State
	host *http.Client
}

func (k keeper) ask(ctx context.Context, do wish) (string, error) {
	status, answer := post(ctx, k.host, "/state", do)
	if status != http.StatusOK {
		return "", fmt.Errorf("the host is gone: %d %s", status, answer)
	}
	return answer, nil
}

func (k keeper) Get(ctx context.Context, key string) ([]byte, uint64, error) {
	answer, err := k.ask(ctx, wish{Do: "get", Key: key})
	return []byte(answer), 0, err
}

func (k keeper) Put(ctx context.Context, key string, value []byte) (uint64, error) {
	_, err := k.ask(ctx, wish{"put", key, value})
	return 0, err
}

func (k keeper) Delete(ctx context.Context, key string) error {
	_, err := k.ask(ctx, wish{Do: "delete", Key: key})
	return err
}

func (k keeper) List(ctx context.Context, prefix, _ string) (keys []string, err error) {
	answer, err := k.ask(ctx, wish{Do: "list", Key: prefix})
	if err == nil {
		err = json.Unmarshal([]byte(answer), &keys)
	}
	return keys, err
}
