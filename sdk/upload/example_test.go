package upload_test

import (
	"context"
	"errors"
	"net/http"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/upload"
)

// A channel that sends a picture with its text.
func Example() {
	send := func(ctx context.Context, env sdk.Env, address string, out chat.Outgoing) error {
		form, err := upload.New(ctx, env.Media.Download,
			upload.Part{Name: "chat", Value: []byte(out.To.Chat)},
			upload.Part{Name: "message", Value: []byte(`{"text": "look"}`), Type: "application/json"},
			upload.Part{Name: "picture", File: out.Media[0].Ref},
		)
		if errors.Is(err, sdk.ErrNotFound) {
			return &chat.Failure{Reason: chat.MediaRejected, Err: err}
		}
		if err != nil {
			return &chat.Failure{Reason: chat.Temporary, Err: err}
		}
		defer form.Close()
		request, err := form.Request(ctx, address)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if cause := form.Err(); cause != nil {
			return &chat.Failure{Reason: chat.Temporary, Err: cause} // the network received an incomplete request
		}
		if err != nil {
			return &chat.Failure{Reason: chat.Temporary, MaybeDelivered: true, Err: err}
		}
		return response.Body.Close()
	}
	_ = send
}
