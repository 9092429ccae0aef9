package admin_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/operate/admin"
	"github.com/clawhost/clawhost/sdk/chat"
)

// asks has turns of anna's ask a question each, with these ids and bodies.
func (b *bundle) asks(t *testing.T, questions ...[2]string) {
	t.Helper()
	b.accept(t, "asks")
	run := b.claim(t)
	to := chat.Address{Channel: "echo", Chat: "anna"}
	for _, q := range questions {
		_, err := b.store.Ask(b.ctx, run.ID, domain.Question{
			ID: q[0], ClaudeSession: "c", Digest: q[0], Authority: chat.Authorised, Asker: "echo:anna", Messages: []domain.QuestionMessage{{}},
			Body: json.RawMessage(q[1]), ExpiresAt: time.Unix(2_000_000_000, 0).UTC(),
		}, domain.OutboxItem{To: to, Text: "May I?"})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// claim claims the next turn.
func (b *bundle) claim(t *testing.T) (run *domain.Run) {
	t.Helper()
	if err := b.store.Claim(b.ctx, domain.TurnLane, domain.Anybodys, func(r *domain.Run) { run = r }); err != nil || run == nil {
		t.Fatal(run, err)
	}
	return run
}

const (
	toolQuestion   = `{"about":"tool","tool":"Bash","line":"ls","shown":"ls <b>\u0000","why":"to see","rules":["Bash(ls *)"],"whose":"owner"}`
	choiceQuestion = `{"about":"choice","line":"Which colour?","labels":["Red","Blue"],"details":["warm",""],"several":true}`
)

// Behaviour: state-page-answer.
func TestQuestionsOnTheStatePage(t *testing.T) {
	t.Parallel()
	b, _, h := remote(t)
	headers := loggedIn(t, h)
	b.asks(t, [2]string{"AAAAA", toolQuestion}, [2]string{"BBBBB", choiceQuestion}, [2]string{"CCCCC", `{"about":"tool","tool":"Bash"}`})
	list := func() (open []admin.OpenQuestion) {
		t.Helper()
		w := ask(t, h, "GET", "/v1/questions", "", headers...)
		if err := json.Unmarshal(w.Body.Bytes(), &open); err != nil || w.Code != 200 || strings.Contains(w.Body.String(), "<") {
			t.Fatalf("%v: %d, %s", err, w.Code, w.Body)
		}
		return open
	}
	open := list()
	if len(open) != 3 {
		t.Fatalf("open: %+v", open)
	}
	for i := range open {
		open[i].Since = time.Time{}
	}
	want := []admin.OpenQuestion{
		{
			ID: "AAAAA", Kind: "tool", About: "Bash", Session: "echo:anna", Agent: "main", ExpiresAt: time.Unix(2_000_000_000, 0).UTC(), May: []string{"owner"},
			Text: "ls", Shown: "ls <b>\x00", Why: "to see", Options: []admin.Option{
				{Answer: "once", Label: "✅ Once", Help: "allow it this once"},
				{Answer: "session", Label: "✅ This session", Help: "allow in this conversation, for messages of owner: `Bash(ls *)`"},
				{Answer: "always", Label: "✅ Always", Help: "allow always in this chat, for messages of owner: `Bash(ls *)`"},
				{Answer: "no", Label: "❌ No", Help: "no; what you add is passed to Claude"},
			},
		},
		{
			ID: "BBBBB", Kind: "choice", About: "choice", Session: "echo:anna", Agent: "main", ExpiresAt: time.Unix(2_000_000_000, 0).UTC(), May: []string{"owner", "echo:anna"},
			Text: "Which colour?", Several: true, Options: []admin.Option{{Answer: "1", Label: "Red", Help: "warm"}, {Answer: "2", Label: "Blue"}},
		},
	}
	if diff := cmp.Diff(want, open[:2]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	do := func(id, text string, code int, says string) {
		t.Helper()
		w := ask(t, h, "POST", "/v1/questions/answer", url.Values{"id": {id}, "answer": {text}}.Encode(), headers...)
		if w.Code != code || !strings.Contains(w.Body.String(), says) {
			t.Errorf("%s %.20q: %d, %s; want %d, %q", id, text, w.Code, w.Body, code, says)
		}
	}
	do("AAAAA", "perhaps", 422, "it takes once, session, always, no")
	do("AAAAA", "no "+strings.Repeat("x", 64<<10), 422, "the limit is 65536")
	do("DDDDD", "once", 404, `no question has the ID \"DDDDD\"`)
	do(strings.Repeat("x", 1000), "once", 404, strings.Repeat("x", 20)+"…")
	do(" aaaaa ", "always", 200, "{}")
	do("AAAAA", "no", 409, "already been answered; the first answer counts")
	do("BBBBB", "1,2", 200, "{}")
	if left := list(); len(left) != 1 || left[0].ID != "CCCCC" {
		t.Errorf("left: %+v", left)
	}
	if q, err := b.store.Question(b.ctx, "BBBBB"); err != nil || q.State != domain.QuestionAnswered || string(q.Answer) != `{"allow":true,"said":"Red, Blue"}` {
		t.Errorf("%+v, %v", q, err)
	}
	grants, err := b.store.Grants(b.ctx, "echo:anna")
	if err != nil || len(grants) != 1 || grants[0].By != "the state page" || grants[0].Rule != "Bash(ls *)" || grants[0].Authority != chat.Authorised {
		t.Errorf("granted %+v, %v", grants, err)
	}

	if _, _, err := b.store.Settle(b.ctx, "CCCCC", domain.QuestionWithdrawn, nil, "closed"); err != nil {
		t.Fatal(err)
	}
	do("CCCCC", "once", 409, "this question is closed")
}

// A part of a form of an MCP server says who asks and what may be written, and takes only what fits.
// Behaviour: state-page-answer, elicit.
func TestFormOnTheStatePage(t *testing.T) {
	t.Parallel()
	b, _, h := remote(t)
	headers := loggedIn(t, h)
	b.asks(t, [2]string{"AAAAA", `{"about":"form","line":"Order?\ncount","form":{"server":"shop","message":"Order?","number":1,"of":1,"field":{"name":"count","title":"count","kind":"integer","least":1}}}`})
	var open []admin.OpenQuestion
	if w := ask(t, h, "GET", "/v1/questions", "", headers...); json.Unmarshal(w.Body.Bytes(), &open) != nil || len(open) != 1 {
		t.Fatalf("open: %s", w.Body)
	}
	open[0].Since = time.Time{}
	want := admin.OpenQuestion{
		ID: "AAAAA", Kind: "form", About: "form", Session: "echo:anna", Agent: "main", ExpiresAt: time.Unix(2_000_000_000, 0).UTC(), May: []string{"owner", "echo:anna"},
		Text: "Order?\ncount", Server: "shop", Takes: "a whole number, at least 1", Options: []admin.Option{
			{Answer: "skip", Label: "⏭ Leave out", Help: "leave it out"}, {Answer: "decline", Label: "❌ Decline", Help: "answer nothing at all"},
		},
	}
	if diff := cmp.Diff(want, open[0]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, answer := range []struct {
		text string
		code int
		says string
	}{{"none", 422, "it takes skip, decline, a whole number, at least 1"}, {"2", 200, "{}"}} {
		w := ask(t, h, "POST", "/v1/questions/answer", url.Values{"id": {"AAAAA"}, "answer": {answer.text}}.Encode(), headers...)
		if w.Code != answer.code || !strings.Contains(w.Body.String(), answer.says) {
			t.Errorf("%s: %d, %s", answer.text, w.Code, w.Body)
		}
	}
	if q, err := b.store.Question(b.ctx, "AAAAA"); err != nil || string(q.Answer) != `{"allow":true,"said":"2","value":2}` {
		t.Errorf("%+v, %v", q, err)
	}
}

// The token of programs does not answer questions, nor does a form of another site.
// Behaviour: state-page-answer.
func TestWhoAnswersNoQuestions(t *testing.T) {
	t.Parallel()
	b, _, h := remote(t)
	headers := loggedIn(t, h)
	b.asks(t, [2]string{"AAAAA", toolQuestion})
	const form = "id=AAAAA&answer=once"
	bearer := []string{"Content-Type", formType, "Authorization", "Bearer " + token}
	for name, w := range map[string]*httptest.ResponseRecorder{
		"a program that answers":          ask(t, h, "POST", "/v1/questions/answer", form, bearer...),
		"a program that reads":            ask(t, h, "GET", "/v1/questions", "", bearer...),
		"a form with the cookie":          ask(t, h, "POST", "/v1/questions/answer", form, append(headers[:2:2], "Content-Type", formType)...),
		"a page of another site":          ask(t, h, "POST", "/v1/questions/answer", form, append(headers[:6:6], "Origin", "http://evil.example")...),
		"a page of another port":          ask(t, h, "POST", "/v1/questions/answer", form, append(headers[:6:6], "Sec-Fetch-Site", "same-site")...),
		"nobody":                          ask(t, h, "POST", "/v1/questions/answer", form, "Content-Type", formType),
		"an answer that a link would ask": ask(t, h, "GET", "/v1/questions/answer?"+form, "", headers...),
	} {
		if w.Code != http.StatusNotFound && w.Code != http.StatusUnauthorized && w.Code != http.StatusForbidden && w.Code != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d, %s", name, w.Code, w.Body)
		}
	}
	if q, err := b.store.Question(b.ctx, "AAAAA"); err != nil || q.State != domain.QuestionOpen {
		t.Errorf("the question is %s, %v", q.State, err)
	}
}

// The command answers as the page does.
func TestQuestionsByTheCommand(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.asks(t, [2]string{"AAAAA", toolQuestion})
	b.run(t)
	if open, err := b.Questions(b.ctx); err != nil || len(open) != 1 || open[0].ID != "AAAAA" {
		t.Fatalf("%+v, %v", open, err)
	}
	if err := b.AnswerQuestion(b.ctx, "AAAAA", "session"); err != nil {
		t.Fatal(err)
	}
	if grants, err := b.store.Grants(b.ctx, "echo:anna"); err != nil || len(grants) != 1 || grants[0].By != "the clawhost command" || grants[0].ClaudeSession == "" {
		t.Errorf("granted %+v, %v", grants, err)
	}
	wantError(t, b.AnswerQuestion(b.ctx, "AAAAA", "once"), "already been answered")
	b.stop()
	if err := b.AnswerQuestion(b.ctx, "AAAAA", "once"); !errors.Is(err, admin.ErrNotRunning) {
		t.Errorf("without a host: %v", err)
	}
}
