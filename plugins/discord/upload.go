package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/network"
	"github.com/clawhost/clawhost/sdk/upload"
)

// Discord's limits for files from bots, without paid upgrades.
const (
	maxUpload  = 10 << 20 // bytes of a file
	maxRequest = 25 << 20 // bytes of a message's files together
	maxFiles   = 10       // per message
)

// bundles divides files into those of one message each, in order.
func bundles(files []chat.Media) ([][]chat.Media, error) {
	var list [][]chat.Media
	size := int64(0)
	for i, m := range files {
		if err := network.CheckFile(m, maxUpload); err != nil {
			return nil, err
		}
		if n := len(list); n == 0 || len(list[n-1]) == maxFiles || size+m.Size > maxRequest || alone(m) || alone(files[i-1]) {
			list, size = append(list, nil), 0
		}
		list[len(list)-1] = append(list[len(list)-1], m)
		size += m.Size
	}
	return list, nil
}

// formOf returns a message with files.
func formOf(ctx context.Context, store sdk.Media, message any, files []chat.Media) (*upload.Form, error) {
	raw, err := json.Marshal(message)
	if err != nil {
		return nil, err
	}
	parts := []upload.Part{{Name: "payload_json", Value: raw, Type: "application/json"}}
	for i, file := range files {
		parts = append(parts, upload.Part{Name: fmt.Sprintf("files[%d]", i), File: file.Ref})
	}
	return upload.New(ctx, store.Download, parts...)
}

// unread returns the error of a request whose files the host could not provide.
func (r *rest) unread(what string, err error) *callError {
	e := &callError{CallError: network.Unread(what, err)}
	e.Message = r.clean(e.Message)
	return e
}
