package main

import (
	"context"
	"sync"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types"
)

const (
	// askTitle limits the request for a group's title. Later messages wait for it.
	askTitle = 5 * time.Second
	// maxTitles limits the titles that are cached.
	maxTitles = 1000
)

// titles caches the titles of groups.
type titles struct {
	mu     sync.Mutex
	titles map[types.JID]string
}

func newTitles() *titles { return &titles{titles: map[types.JID]string{}} }

// of returns a group's title; empty if it is currently unavailable.
func (t *titles) of(ctx context.Context, client *whatsmeow.Client, group types.JID) string {
	t.mu.Lock()
	title, known := t.titles[group]
	t.mu.Unlock()
	if known {
		return title
	}
	ctx, cancel := context.WithTimeout(ctx, askTitle)
	defer cancel()
	info, err := client.GetGroupInfo(ctx, group)
	if err != nil {
		return ""
	}
	t.set(group, info.Name)
	return info.Name
}

// known returns a cached title, or an empty one.
func (t *titles) known(group types.JID) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.titles[group]
}

func (t *titles) set(group types.JID, title string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.titles) >= maxTitles {
		clear(t.titles)
	}
	t.titles[group] = title
}
