package main

import (
	"fmt"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A page that loses its stream again and again sees each message once, in order.
func TestStreamResumes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const count = 30
	go func() {
		for i := range count {
			b.send(t, fmt.Sprint(i))
		}
	}()
	var got, want []string
	after := int64(0)
	for len(got) < count {
		stream := b.events(t, after)
		for range min(1+len(got)%4, count-len(got)) {
			got = append(got, stream.message())
		}
		after = stream.lastID
		stream.close()
	}
	for i := range count {
		want = append(want, fmt.Sprintf("agent  <p>%d</p>", i))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What is more than one batch comes whole, and at once.
func TestStreamBeginsWithAllThatIsMissing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const count = 2*batch + 1
	for i := range count {
		b.send(t, fmt.Sprint(i))
	}
	stream := b.events(t, 1)
	for i := range count - 1 {
		if got, want := stream.message(), fmt.Sprintf("agent  <p>%d</p>", i+1); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
	if stream.beats > 0 {
		t.Error("the stream paused")
	}
}

// Over a restart of the plugin a page goes on where it was; a change that it missed comes with the message's place.
func TestStreamResumesOverARestart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.send(t, "first")
	b.send(t, "second")
	stream := b.events(t, 0)
	stream.message()
	stream.message()
	if err := b.Edit(t.Context(), local, first, "changed", nil); err != nil {
		t.Fatal(err)
	}
	b.stop()
	b = start(t, b.dir, nil)
	b.say(t, "third")
	stream = b.events(t, stream.lastID)
	if got := stream.message(); got != "agent  <p>changed</p>" {
		t.Errorf("got %q", got)
	}
	if got := stream.message(); got != "user accepted third" {
		t.Errorf("got %q", got)
	}
	messages, _ := b.history(t, "")
	want := []string{"agent  <p>changed</p>", "agent  <p>second</p>", "user accepted third"}
	if diff := cmp.Diff(want, describeAll(messages)); diff != "" {
		t.Error(diff)
	}
}

// A page that has seen more than there is has seen another journal.
func TestStreamResets(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.send(t, "new")
	stream := b.events(t, 1000)
	if name, _ := stream.next(); name != "reset" {
		t.Errorf("got %q", name)
	}
	if got := stream.message(); got != "agent  <p>new</p>" {
		t.Errorf("got %q", got)
	}
}

func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var first *events
	for range maxStreams {
		stream := b.events(t, 0)
		if first == nil {
			first = stream
		}
	}
	answer := b.request(t, http.MethodGet, "/api/events", nil, nil)
	if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" {
		t.Errorf("one more: %s", answer.Status)
	}
	// A page that disconnects frees its slot.
	first.close()
	for answer := answer; answer.StatusCode != http.StatusOK; {
		answer = b.request(t, http.MethodGet, "/api/events", nil, nil)
	}
}

func TestStreamRefusesABadRevision(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, after := range []string{"x", "-1", "1.5"} {
		answer := b.request(t, http.MethodGet, "/api/events?after="+after, nil, nil)
		if answer.StatusCode != http.StatusBadRequest {
			t.Errorf("after=%s: %s", after, answer.Status)
		}
	}
}

func TestHistorySurvivesARestart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.say(t, "question")
	b.send(t, "answer")
	before, _ := b.history(t, "")
	b.stop()
	again := start(t, b.dir, nil)
	after, _ := again.history(t, "")
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error(diff)
	}
	if len(after) != 2 {
		t.Errorf("%d messages in %s", len(after), filepath.Base(b.dir))
	}
}
