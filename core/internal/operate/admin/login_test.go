package admin_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/operate/admin"
	"github.com/clawhost/clawhost/sdk/chat"
)

// login lets those in who say their name.
func (b *bundle) login(ctx context.Context, plugin string, answers map[string]string, show func(chat.LoginStep)) (chat.UserID, error) {
	switch {
	case plugin != "echo":
		return "", errors.New("echo alone has a login")
	case answers["name"] == "":
		show(chat.LoginStep{ID: "name", Instructions: "Say who you are.", Input: "Name"})
		return "", nil
	case answers["name"] == "slow":
		show(chat.LoginStep{ID: "wait", Code: "1"})
		<-ctx.Done()
		close(b.left)
		return "", ctx.Err()
	}
	show(chat.LoginStep{ID: "scan", QR: "content"})
	return chat.UserID(answers["name"]), nil
}

func TestLogin(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ignore := func(admin.LoginStep) {}
	if _, err := b.Login(b.ctx, "echo", nil, ignore); !errors.Is(err, admin.ErrNotRunning) {
		t.Errorf("without a host: %v", err)
	}
	b.run(t)
	_, err := b.Login(b.ctx, "other", nil, ignore)
	wantError(t, err, "echo alone has a login")
	var steps []admin.LoginStep
	keep := func(s admin.LoginStep) { steps = append(steps, s) }
	if account, err := b.Login(b.ctx, "echo", nil, keep); account != "" || err != nil {
		t.Error(account, err)
	}
	if account, err := b.Login(b.ctx, "echo", map[string]string{"name": "anna"}, keep); account != "anna" || err != nil {
		t.Error(account, err)
	}
	want := []admin.LoginStep{{ID: "name", Instructions: "Say who you are.", Input: "Name"}, {ID: "scan", QR: "content"}}
	if diff := cmp.Diff(want, steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	// Who leaves ends it.
	b.left = make(chan struct{})
	ctx, leave := context.WithCancel(b.ctx)
	if _, err := b.Login(ctx, "echo", map[string]string{"name": "slow"}, func(admin.LoginStep) { leave() }); !errors.Is(err, context.Canceled) {
		t.Errorf("who left has %v", err)
	}
	<-b.left
}

func TestOddLogins(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(t)
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", b.socket())
	}}}
	t.Cleanup(client.CloseIdleConnections)
	for _, body := range []string{"", "{", `{"plugin": 7}`, `{"plugin": "` + strings.Repeat("x", 1<<20) + `"}`} {
		response, err := client.Post("http://clawhost/v1/plugins/login", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusBadRequest {
			t.Errorf("%.20q gives %s", body, response.Status)
		}
	}
}
