package permission_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Behaviour: given-up.
func TestOffer(t *testing.T) {
	t.Parallel()
	anna, bob, owner := caller("anna", chat.Other), caller("bob", chat.Authorised), caller("owner", chat.Owner)
	for name, test := range map[string]struct {
		who     chat.Caller
		answer  string
		reply   string
		edit    string
		resumed []string
		state   domain.QuestionState
	}{
		"they go on":     {anna, "go", "", "I gave it up.\n\n▶ Continued by Anna\\_anna.", []string{"resume:ID: s by anna as other in anna: Go on from where you left off."}, domain.QuestionTaken},
		"by number":      {anna, "1", "", "I gave it up.\n\n▶ Continued by Anna\\_anna.", []string{"resume:ID: s by anna as other in anna: Go on from where you left off."}, domain.QuestionTaken},
		"an owner":       {owner, "yes", "", "I gave it up.\n\n▶ Continued by Anna\\_owner.", []string{"resume:ID: s by owner as other in anna: Go on from where you left off."}, domain.QuestionTaken},
		"they leave it":  {anna, "leave", "", "I gave it up.\n\n✖ Left as it is by Anna\\_anna.", nil, domain.QuestionTaken},
		"another person": {bob, "go", "Only an owner, or somebody named in the config for it, can answer this.", "", nil, domain.QuestionOpen},
		"something else": {anna, "perhaps", "`perhaps` is not an answer to this. Say one of `/answer ID go`, `/answer ID leave`.", "", nil, domain.QuestionOpen},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newFixture()
			d := r.desk(t)
			run := runOf("anna", chat.Other)
			run.Head.ConsumedAt = time.Unix(1, 0)
			if err := d.Offer(t.Context(), run, "I gave it up."); err != nil {
				t.Fatal(err)
			}
			id := r.next(t)
			d.End(t.Context(), "s", 7, false) // The end of the run is no end of the offer.
			d = r.desk(t)                     // Nor is the host's.
			if text := r.asked[0].Text; text != "I gave it up." || len(r.asked[0].Buttons) != 1 {
				t.Errorf("asked %q, %v", text, r.asked[0].Buttons)
			}
			if _, _, ok := reading(t, d, anna, "1"); ok {
				t.Error("a number that somebody writes answers it")
			}
			reply, known, err := d.Answer(t.Context(), test.who, id, test.answer)
			if strings.ReplaceAll(reply, id, "ID") != test.reply || !known || err != nil {
				t.Error(reply, known, err)
			}
			for i := range r.sent {
				r.sent[i] = strings.ReplaceAll(r.sent[i], id, "ID")
			}
			if diff := cmp.Diff(test.resumed, r.sent); diff != "" || r.questions[0].State != test.state {
				t.Error(diff, r.questions[0].State)
			}
			if test.edit != "" {
				if diff := cmp.Diff([]string{test.edit}, r.edits); diff != "" {
					t.Error(diff)
				}
				if reply, _, _ := d.Answer(t.Context(), test.who, id, "go"); !strings.HasPrefix(reply, "This question is closed.") || len(r.sent) > 1 {
					t.Errorf("once more: %q, %v", reply, r.sent)
				}
			}
		})
	}
}

// Messages that claude has never read are repeated as they were written, in their writers' names, with at most the
// authority of the person who accepts the offer.
// Behaviour: given-up.
func TestOfferOfAnUnreadMessage(t *testing.T) {
	t.Parallel()
	r := newFixture()
	d := r.desk(t)
	run := runOf("owner", chat.Owner)
	run.Head.Message.Text = "make tea"
	run.More = []domain.Queued{{Message: run.Head.Message}}
	run.More[0].Message.Text = "with milk"
	if err := d.Offer(t.Context(), run, "I gave it up."); err != nil {
		t.Fatal(err)
	}
	id := r.next(t)
	asker := caller("owner", chat.Authorised) // who was an owner then
	for range 2 {
		if _, _, err := r.desk(t).Answer(t.Context(), asker, id, "go"); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"resume:" + id + ": s of owner as authorised in owner: make tea",
		"resume:" + id + ": s of owner as authorised in owner: with milk",
	}
	if diff := cmp.Diff(want, r.sent); diff != "" {
		t.Error(diff)
	}
}

// Behaviour: given-up.
func TestExpiredOfferCannotBeAccepted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newFixture()
		d := r.desk(t)
		if err := d.Offer(t.Context(), runOf("anna", chat.Other), "I gave it up."); err != nil {
			t.Fatal(err)
		}
		id := r.next(t)
		time.Sleep(25 * time.Hour)
		if reply, _, err := d.Answer(t.Context(), caller("anna", chat.Other), id, "go"); reply != "This question is closed." || err != nil || len(r.sent) != 0 {
			t.Error(reply, err, r.sent)
		}
		if r.questions[0].State != domain.QuestionExpired {
			t.Error(r.questions[0].State)
		}
	})
}

// An offer without an answer expires: later messages are not compared with it, and it has no buttons any more.
// Behaviour: given-up.
func TestUnacceptedOffersExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newFixture()
		d := r.desk(t)
		if err := d.Offer(t.Context(), runOf("anna", chat.Other), "I gave it up."); err != nil {
			t.Fatal(err)
		}
		r.next(t)
		time.Sleep(23 * time.Hour)
		d.Expire(t.Context())
		if r.questions[0].State != domain.QuestionOpen || len(r.edits) != 0 {
			t.Errorf("before its time: %s, %q", r.questions[0].State, r.edits)
		}
		time.Sleep(2 * time.Hour)
		for range 2 {
			d.Expire(t.Context())
		}
		if diff := cmp.Diff([]string{"I gave it up."}, r.edits); r.questions[0].State != domain.QuestionExpired || diff != "" {
			t.Error(r.questions[0].State, diff)
		}
	})
}

func TestOfferFails(t *testing.T) {
	t.Parallel()
	r := newFixture()
	d := r.desk(t)
	r.refuse = errors.New("the disk is full")
	if err := d.Offer(t.Context(), runOf("anna", chat.Other), "I gave it up."); err == nil {
		t.Error("an offer that no one sees")
	}
}
