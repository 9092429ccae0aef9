package sdktest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/wire"
)

func sends(t testing.TB, s Setup) {
	network, h := s.connect(t)
	for i, id := range s.Chats {
		want := []string{fmt.Sprintf("first to chat %d", i), fmt.Sprintf("second to chat %d", i)}
		for n, text := range want {
			out := chat.Outgoing{Key: fmt.Sprintf("key-%d-%d", i, n), To: chat.Address{Channel: Instance, Chat: id}, Text: text}
			if _, err := h.Send(out); err != nil {
				t.Fatalf("send to %s: %v", id, err)
			}
		}
		eventually(t, "both messages arrive, in order", sentTo(network, id), are(want...))
	}
}

// sendsToPeople sends to a person's id, which is all that the host knows of a person who has not written.
func sendsToPeople(t testing.TB, s Setup) {
	network, config := s.network(t)
	h, _ := s.start(t, config)
	network.Deliver(s.Chats[0], "this is me")
	out := chat.Outgoing{Key: "person", To: chat.Address{Channel: Instance, Chat: chat.ID(h.NextEvent().Sender.ID)}, Text: "to you"}
	if _, err := h.Send(out); err != nil {
		t.Fatalf("send to the person %s, as if to a chat: %v; want it sent to their direct chat", out.To.Chat, err)
	}
	eventually(t, "it arrives in the person's direct chat", sentTo(network, s.Chats[0]), has("to you"))
}

func sendsTheLongest(t testing.TB, s Setup) {
	network, h := s.connect(t)
	limit := h.Limits(chat.Direct).Text
	if limit.Max <= 0 {
		limit = chat.TextLimit{Max: wire.MaxText, Unit: chat.Bytes} // the longest that the host sends
	}
	// One, two and four bytes; one, one and two UTF-16 units.
	for _, character := range []rune{'x', 'ü', '🦀'} {
		size := map[chat.Unit]int{
			chat.Bytes: utf8.RuneLen(character), chat.Runes: 1, chat.UTF16: utf16.RuneLen(character),
		}[limit.Unit]
		times := limit.Max / size
		text := strings.Repeat(string(character), times)
		out := chat.Outgoing{Key: fmt.Sprintf("long-%x", character), To: chat.Address{Channel: Instance, Chat: s.Chats[0]}, Text: text}
		if _, err := h.Send(out); err != nil {
			t.Fatalf("send %d times %q: %v", times, character, err)
		}
		eventually(t, fmt.Sprintf("%d times %q arrive in one piece", times, character), sentTo(network, s.Chats[0]), has(text))
	}
}

// sendsLines sends a text with several lines, which a line-based network could take for commands.
func sendsLines(t testing.TB, s Setup) {
	network, h := s.connect(t)
	want := []string{"first line", "QUIT", "/quit", "last line"}
	s.say(t, h, strings.Join(want, "\n"))
	eventually(t, "each line of a text arrives, in order", sentTo(network, s.Chats[0]), func(seen []string) bool {
		lines := strings.FieldsFunc(strings.Join(seen, "\n"), func(r rune) bool { return r == '\n' || r == '\r' })
		return slices.Equal(lines, want)
	})
}

// doubtsCuts checks that a message that arrived before its connection broke is not reported as undelivered.
func doubtsCuts(t testing.TB, s Setup) {
	n, h := s.connect(t)
	network, ok := feature[CutNetwork](t, s, n, Cuts)
	if !ok {
		return
	}
	network.Cut(s.Chats[0])
	_, err := h.Send(chat.Outgoing{Key: "cut", To: s.first(), Text: "cut off"})
	eventually(t, "the message arrives before the connection breaks", sentTo(network, s.Chats[0]), has("cut off"))
	if f, failed := errors.AsType[*chat.Failure](err); err != nil && (!failed || !f.MaybeDelivered || !f.Reason.Retryable()) {
		t.Errorf("a message that arrived, though its connection broke, gives %v; want none, or a failure that may pass with MaybeDelivered", err)
	}
}

// sendsOnce repeats a key, which means that the outcome of the first attempt is unknown.
func sendsOnce(t testing.TB, s Setup) {
	network, config := s.network(t)
	var first chat.Receipt
	for life := range 2 {
		h, _ := s.start(t, config)
		switch once, without := h.Limits(chat.Direct).IdempotentSend, slices.Contains(s.Without, Repeats); {
		case once && without:
			t.Fatalf("the setup says that the channel is without %s, but its limits name IdempotentSend", Repeats)
		case !once && !without:
			t.Fatalf("the same key sent twice may show two messages: the limits must name IdempotentSend, or Setup.Without %s", Repeats)
		case !once:
			return
		}
		network.Deliver(s.Chats[0], fmt.Sprintf("hello, life %d", life))
		h.NextEvent()
		for try := range 2 {
			receipt, err := h.Send(chat.Outgoing{Key: "once", To: s.first(), Text: "just once"})
			if err != nil {
				t.Fatalf("send for the %d. time in life %d: %v", try+1, life+1, err)
			}
			if life+try == 0 {
				first = receipt
			}
			if !slices.Equal(receipt.IDs, first.IDs) {
				t.Errorf("the same key gives message %v and then %v", first.IDs, receipt.IDs)
			}
		}
		behind := fmt.Sprintf("behind it in life %d", life)
		s.say(t, h, behind)
		eventually(t, "another message arrives", sentTo(network, s.Chats[0]), has(behind))
		h.Shutdown()
	}
	network.Deliver(s.Chats[0], "what is there to be read?")
	h, _ := s.start(t, config)
	h.NextEvent()
	if sent, want := network.Sent(s.Chats[0]), []string{
		"just once", "behind it in life 0",
		"behind it in life 1",
	}; !slices.Equal(sent, want) {
		t.Errorf("the same key four times shows %q, want %q", sent, want)
	}
}

// sendsAnswersToNothing replies to ids that do not exist: an agent writes down the id of the message it replies to, and may
// be wrong.
func sendsAnswersToNothing(t testing.TB, s Setup) {
	network, h := s.connect(t)
	for i, id := range []chat.MessageID{
		"999999", "-5", "0", "1234567890123456789", "18446744073709551616", "3EB0C767D71D8F0B1A2C", "the last one", "/", "\"}",
	} {
		text := fmt.Sprintf("answer %d", i)
		out := chat.Outgoing{
			Key: fmt.Sprintf("answer-%d", i), To: chat.Address{Channel: Instance, Chat: s.Chats[0]},
			Text: text, ReplyTo: id,
		}
		if _, err := h.Send(out); err != nil {
			t.Errorf("an answer to %q: %v; want it sent, as an answer to nothing", id, err)
			continue
		}
		eventually(t, fmt.Sprintf("an answer to %q arrives", id), sentTo(network, s.Chats[0]), has(text))
	}
}

func tellsRefusals(t testing.TB, s Setup) {
	network, h := s.connect(t)
	want := network.Refuse(s.Chats[0])
	_, err := h.Send(chat.Outgoing{Key: "refused", To: chat.Address{Channel: Instance, Chat: s.Chats[0]}, Text: "refused"})
	failure, ok := errors.AsType[*chat.Failure](err)
	if !ok || failure.Reason != want {
		t.Errorf("a refused message gives %v, want a failure: %s", err, want)
	}
	_, err = h.Send(chat.Outgoing{Key: "nowhere", To: chat.Address{Channel: Instance, Chat: "there is no such chat"}, Text: "x"})
	if failure, ok := errors.AsType[*chat.Failure](err); !ok || failure.MaybeDelivered {
		t.Errorf("a message to a chat that does not exist gives %v, want a failure that says it was not delivered", err)
	}
	if status.Code(err) == codes.Internal {
		t.Errorf("the channel broke: %v", err)
	}
}

// tells returns a check that a refusal is reported with a reason.
func tells(reason chat.Reason) func(testing.TB, Setup) {
	return func(t testing.TB, s Setup) {
		n, h := s.connect(t)
		network, ok := n.(FailNetwork)
		if !ok || !network.Fail(s.Chats[0], reason) {
			t.Fatalf("nothing shows how the channel tells this refusal: its Network must be a sdktest.FailNetwork that refuses so, or Setup.Never name the reason")
		}
		out := chat.Outgoing{Key: "refused", To: s.first(), Text: "refused"}
		if reason == chat.MediaRejected {
			out.Media = []chat.Media{h.Host.AddFile(sample(chat.File))}
		}
		_, err := h.Send(out)
		f, ok := errors.AsType[*chat.Failure](err)
		if !ok || f.Reason != reason {
			t.Fatalf("got %v, want a failure: %s", err, reason)
		}
		if reason == chat.RateLimited && (f.RetryAfter <= 0 || f.MaybeDelivered) {
			t.Errorf("the limit says to wait %v, maybe delivered %t; want how long the network told, and not delivered",
				f.RetryAfter, f.MaybeDelivered)
		}
		if !reason.Retryable() && f.MaybeDelivered {
			t.Error("what the network refused for good may be delivered")
		}
	}
}
