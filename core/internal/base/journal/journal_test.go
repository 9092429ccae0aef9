package journal_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/journal"
)

func TestAwait(t *testing.T) {
	t.Parallel()
	var j journal.Journal
	fmt.Fprint(&j, "ready\n")
	mark := j.Mark()
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := range 100 {
			fmt.Fprintf(&j, "line %d\n", i)
		}
		fmt.Fprint(&j, "ready again\n")
	})
	if err := j.Await(t.Context(), nil, mark, regexp.MustCompile(`ready`)); err != nil {
		t.Error(err)
	}
	writer.Wait()
	if got := j.String(); len(got) != len("ready\nready again\n")+10*len("line 0\n")+90*len("line 10\n") {
		t.Errorf("%d bytes were kept", len(got))
	}
}

func TestAwaitGivesUp(t *testing.T) {
	t.Parallel()
	var j journal.Journal
	fmt.Fprint(&j, "ready\n")
	ended := make(chan struct{})
	close(ended)
	if err := j.Await(t.Context(), ended, 0, regexp.MustCompile(`ready`)); err != nil {
		t.Error(err)
	}
	if err := j.Await(t.Context(), ended, j.Mark(), regexp.MustCompile(`ready`)); err == nil {
		t.Error("what is written before the mark counts, too")
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := j.Await(over, nil, 0, regexp.MustCompile(`never`)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
