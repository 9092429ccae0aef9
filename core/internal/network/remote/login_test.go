package remote_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
)

func TestLogins(t *testing.T) {
	t.Parallel()
	step := &pluginv1.LoginResponse{StepId: "a", Step: &pluginv1.LoginResponse_Code{Code: "1"}}
	done := &pluginv1.LoginResponse{Step: &pluginv1.LoginResponse_Complete{Complete: &pluginv1.LoginComplete{AccountId: "anna"}}}
	refused := &pluginv1.LoginResponse{Step: &pluginv1.LoginResponse_Failure{Failure: &pluginv1.Failure{
		Reason: pluginv1.Reason_REASON_FORBIDDEN, Delivery: pluginv1.Delivery_DELIVERY_NOT_DELIVERED, Message: "no",
	}}}
	endless := make([]*pluginv1.LoginResponse, 2000)
	for i := range endless {
		endless[i] = step
	}
	for _, test := range []struct {
		name    string
		steps   []*pluginv1.LoginResponse
		shown   int
		account chat.UserID
		fails   string
	}{
		{"done", []*pluginv1.LoginResponse{step, step, done}, 2, "anna", ""},
		{"asks", []*pluginv1.LoginResponse{step}, 1, "", ""},
		{"refused", []*pluginv1.LoginResponse{step, refused, done}, 1, "", "forbidden: no"},
		{"a step of another age", []*pluginv1.LoginResponse{{StepId: "a"}}, 0, "", "newer protocol"},
		{"endless", endless, 1000, "", "more than 1000 steps"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p, _ := connect(t, &nasty{steps: test.steps})
			shown := 0
			account, err := p.Login(t.Context(), nil, func(chat.LoginStep) { shown++ })
			if shown != test.shown || account != test.account || (err == nil) != (test.fails == "") || err != nil && !strings.Contains(err.Error(), test.fails) {
				t.Errorf("%d steps shown, account %q, %v", shown, account, err)
			}
			if f := (*chat.Failure)(nil); errors.As(err, &f) != (test.name == "refused") {
				t.Errorf("the error is %T", err)
			}
		})
	}
}
