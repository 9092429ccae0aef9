package wire

import (
	"errors"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
)

// Limits of a login.
const (
	MaxQR      = 2953 // bytes; a QR code holds no more
	MaxAnswers = 32
	MaxAnswer  = 4 << 10 // bytes; longer ones are refused
)

// LoginStepToProto converts a step of a login.
func LoginStepToProto(s chat.LoginStep) *pluginv1.LoginResponse {
	p := &pluginv1.LoginResponse{StepId: Repair(s.ID), Instructions: Cut(s.Instructions, MaxDetail)}
	switch {
	case s.QR != "":
		p.Step = &pluginv1.LoginResponse_Qr{Qr: Repair(s.QR)}
	case s.Code != "":
		p.Step = &pluginv1.LoginResponse_Code{Code: Repair(s.Code)}
	case s.Input != "":
		p.Step = &pluginv1.LoginResponse_NeedInput{NeedInput: Repair(s.Input)}
	}
	return p
}

// LoginEndToProto converts the end of a login: the account, or the failure.
func LoginEndToProto(account chat.UserID, failure *pluginv1.Failure) *pluginv1.LoginResponse {
	if failure != nil {
		return &pluginv1.LoginResponse{Step: &pluginv1.LoginResponse_Failure{Failure: failure}}
	}
	return &pluginv1.LoginResponse{Step: &pluginv1.LoginResponse_Complete{
		Complete: &pluginv1.LoginComplete{AccountId: Repair(string(account))},
	}}
}

// LoginFromProto converts a message of a login: a step, or (with a nil step) its end, which is an account or an error. The
// error is a [*chat.Failure] if the network or the person is at fault.
func LoginFromProto(p *pluginv1.LoginResponse) (*chat.LoginStep, chat.UserID, error) {
	s := &chat.LoginStep{ID: p.GetStepId(), Instructions: Cut(p.GetInstructions(), MaxDetail)}
	if err := id("step_id", s.ID); err != nil {
		return nil, "", err
	}
	switch step := p.GetStep().(type) {
	case *pluginv1.LoginResponse_Qr:
		s.QR = step.Qr
		return s, "", sized("qr", s.QR, MaxQR)
	case *pluginv1.LoginResponse_Code:
		s.Code = step.Code
		return s, "", sized("code", s.Code, MaxName)
	case *pluginv1.LoginResponse_NeedInput:
		s.Input = step.NeedInput
		return s, "", sized("need_input", s.Input, MaxDetail)
	case *pluginv1.LoginResponse_Complete:
		account := step.Complete.GetAccountId()
		return nil, chat.UserID(account), sized("account_id", account, MaxID)
	case *pluginv1.LoginResponse_Failure:
		return nil, "", FailureFromProto(step.Failure)
	default:
		return nil, "", errors.New("step: not set, or of a newer protocol")
	}
}

// sized checks that a text is neither empty nor too long.
func sized(name, value string, most int) error {
	if value == "" || len(value) > most {
		return field(name, "has %d bytes; it must have 1 to %d", len(value), most)
	}
	return nil
}

// AnswersFromProto converts the answers to previous steps of a login, keyed by step id.
func AnswersFromProto(p *pluginv1.LoginRequest) (map[string]string, error) {
	if n := len(p.GetAnswers()); n > MaxAnswers {
		return nil, field("answers", "%d entries, at most %d are allowed", n, MaxAnswers)
	}
	answers := map[string]string{}
	for step, answer := range p.GetAnswers() {
		if err := first(requiredID("answers", step), sized("answers", answer, MaxAnswer)); err != nil {
			return nil, err
		}
		answers[step] = answer
	}
	return answers, nil
}
