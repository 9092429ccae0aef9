package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/sdktest"
)

// keeper is the config of a plugin that keeps something of people.
type keeper struct {
	Key  sdk.Secret `json:"key"`
	Fail bool       `json:"fail,omitempty"`
}

// Forget returns what it is called with.
func (k keeper) Forget(_ context.Context, p sdk.Person) (left []string, err error) {
	if k.Fail {
		return nil, errors.New("the key " + k.Key.Reveal() + " does not open the file")
	}
	return []string{fmt.Sprintf("%v %v %v %t %s", p.Own(), p.Users, p.Names, p.Instance == sdktest.Instance, p.StateDir), "key " + k.Key.Reveal()}, nil
}

func TestForget(t *testing.T) {
	t.Parallel()
	h := sdktest.New(t, sdk.Service(func(context.Context, sdk.Env, keeper) (struct{}, error) {
		t.Error("the component was opened")
		return struct{}{}, nil
	}))
	h.StateDir = t.TempDir()
	who := sdk.Person{Users: []sdk.User{{Channel: sdktest.Instance, ID: "1"}, {Channel: "other", ID: "2"}}, Names: []string{"Ann"}}
	left, err := h.Forget(map[string]any{"key": "open-sesame-0123"}, who)
	want := fmt.Sprintf("[1] [{%s 1} {other 2}] [Ann] true %s", sdktest.Instance, h.StateDir)
	if err != nil || len(left) != 2 || left[0] != want || strings.Contains(left[1], "sesame") {
		t.Errorf("left %q, want %q and no secret; %v", left, want, err)
	}
	if _, err := h.Forget(map[string]any{"key": "open-sesame-0123", "fail": true}, who); err == nil || strings.Contains(err.Error(), "sesame") {
		t.Errorf("of an error: %v", err)
	}
}
