package wire_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/wire"
)

func TestLoginRoundTrip(t *testing.T) {
	t.Parallel()
	for _, want := range []chat.LoginStep{
		{ID: "a", Instructions: "Scan.", QR: "content"},
		{ID: "b", Instructions: "Type.", Code: "ABCD"},
		{ID: "c", Instructions: "Say.", Input: "Name"},
		{ID: strings.Repeat("x", wire.MaxID), QR: strings.Repeat("x", wire.MaxQR)},
	} {
		got, account, err := wire.LoginFromProto(wire.LoginStepToProto(want))
		if err != nil || account != "" {
			t.Fatal(account, err)
		}
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if step, account, err := wire.LoginFromProto(wire.LoginEndToProto("anna", nil)); step != nil || account != "anna" || err != nil {
		t.Error(step, account, err)
	}
	refusal := wire.FailureToProto(&chat.Failure{Reason: chat.Forbidden, Err: errors.New("no")})
	_, _, err := wire.LoginFromProto(wire.LoginEndToProto("", refusal))
	if f, ok := errors.AsType[*chat.Failure](err); !ok || f.Reason != chat.Forbidden {
		t.Errorf("the failure comes as %v", err)
	}
	answers, err := wire.AnswersFromProto(&pluginv1.LoginRequest{Answers: map[string]string{"phone": "1"}})
	if diff := cmp.Diff(map[string]string{"phone": "1"}, answers); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestLoginRefusesWhatIsTooMuch(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<16)
	for name, p := range map[string]*pluginv1.LoginResponse{
		"nothing":      {StepId: "a"},
		"an empty QR":  {Step: &pluginv1.LoginResponse_Qr{}},
		"a long QR":    {Step: &pluginv1.LoginResponse_Qr{Qr: long}},
		"a long code":  {Step: &pluginv1.LoginResponse_Code{Code: long}},
		"a long input": {Step: &pluginv1.LoginResponse_NeedInput{NeedInput: long}},
		"a long id":    {StepId: long, Step: &pluginv1.LoginResponse_Code{Code: "1"}},
		"no account":   {Step: &pluginv1.LoginResponse_Complete{}},
	} {
		if _, _, err := wire.LoginFromProto(p); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	many := map[string]string{}
	for i := range wire.MaxAnswers + 1 {
		many[strings.Repeat("x", i+1)] = "y"
	}
	for name, answers := range map[string]map[string]string{"many": many, "long": {"a": long}, "empty": {"a": ""}} {
		if _, err := wire.AnswersFromProto(&pluginv1.LoginRequest{Answers: answers}); err == nil {
			t.Errorf("answers that are %s are taken", name)
		}
	}
}
