package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"github.com/clawhost/clawhost/sdk/network"
	"github.com/clawhost/clawhost/sdk/upload"
)

// enclosed are the files of a request, as parts of its form.
type enclosed struct {
	files []upload.Part
	open  upload.Open
	bytes int64 // of all files together
}

// upload is call with files. The library's own uploads start goroutines that are never waited for, and lose the error code, so
// they are not used.
func (a *api) upload(ctx context.Context, method string, params tgbotapi.Params, enclosed *enclosed) (json.RawMessage, error) {
	var parts []upload.Part
	for _, name := range slices.Sorted(maps.Keys(params)) {
		parts = append(parts, upload.Part{Name: name, Value: []byte(params[name])})
	}
	form, err := upload.New(ctx, enclosed.open, append(parts, enclosed.files...)...)
	if err != nil {
		return nil, a.unread(method, err)
	}
	defer form.Close()
	request, err := form.Request(ctx, fmt.Sprintf(a.endpoint, a.token, method))
	if err != nil {
		return nil, a.failed(method, &exchange{}, err)
	}
	e := &exchange{ctx: ctx, client: a.client}
	response, err := e.Do(request)
	if err != nil {
		if cause := form.Err(); cause != nil && ctx.Err() == nil {
			return nil, a.unread(method, cause) // Telegram received an incomplete request
		}
		return nil, a.failed(method, e, err)
	}
	var answer tgbotapi.APIResponse
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, a.failed(method, e, err)
	}
	if answer.Ok {
		return answer.Result, nil
	}
	refused := &tgbotapi.Error{Code: answer.ErrorCode, Message: answer.Description}
	if answer.Parameters != nil {
		refused.ResponseParameters = *answer.Parameters
	}
	return nil, a.failed(method, e, refused)
}

// unread returns the error of a request whose files the host could not provide. The request was not delivered.
func (a *api) unread(method string, err error) error {
	e := &callError{CallError: network.Unread(method, err)}
	e.Message = a.redactor.clean(e.Message)
	return e
}
