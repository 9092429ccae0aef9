package hostapi_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/clawhost/clawhost/sdk/pluginv1"
)

func TestState(t *testing.T) {
	t.Parallel()
	b := setup(t)
	own, other := pluginv1.NewStateClient(b.connect(t, "echo")), pluginv1.NewStateClient(b.connect(t, "granted"))
	put := func(value string, ifRevision *uint64) *pluginv1.PutValueResponse {
		t.Helper()
		response, err := own.PutValue(t.Context(), &pluginv1.PutValueRequest{Key: "k", Value: []byte(value), IfRevision: ifRevision})
		if err != nil {
			t.Fatal(err)
		}
		return response
	}
	get := func(client pluginv1.StateClient) *pluginv1.GetValueResponse {
		t.Helper()
		response, err := client.GetValue(t.Context(), &pluginv1.GetValueRequest{Key: "k"})
		if err != nil {
			t.Fatal(err)
		}
		return response
	}

	if absent := get(own); absent.GetFound() {
		t.Errorf("found %v before it was written", absent)
	}
	none, wrong := uint64(0), uint64(99)
	if r := put("x", &wrong); r.GetWritten() || r.GetRevision() != 0 {
		t.Errorf("written at a wrong revision: %v", r)
	}
	first := put("one", &none)
	if !first.GetWritten() {
		t.Errorf("not written where the key is absent: %v", first)
	}
	if r := put("x", &none); r.GetWritten() || r.GetRevision() != first.GetRevision() {
		t.Errorf("written where the key is there: %v", r)
	}
	second := put("two", &first.Revision)
	if !second.GetWritten() || second.GetRevision() == first.GetRevision() {
		t.Errorf("not written at the right revision: %v", second)
	}
	if r := put("x", &first.Revision); r.GetWritten() {
		t.Errorf("written at an old revision: %v", r)
	}
	third := put("three", nil)
	if got := get(own); string(got.GetValue()) != "three" || got.GetRevision() != third.GetRevision() {
		t.Errorf("got %v, want three at %d", got, third.GetRevision())
	}
	if got := get(other); got.GetFound() {
		t.Errorf("another instance reads %v", got)
	}
	for range 2 { // an absent key is no error
		if _, err := own.DeleteValue(t.Context(), &pluginv1.DeleteValueRequest{Key: "k"}); err != nil {
			t.Error(err)
		}
	}
	if got := get(own); got.GetFound() {
		t.Errorf("got %v after it was deleted", got)
	}
	if r := put("x", &third.Revision); r.GetWritten() {
		t.Errorf("written at a deleted key's revision: %v", r)
	}
}

func TestStateKeys(t *testing.T) {
	t.Parallel()
	b := setup(t)
	client := pluginv1.NewStateClient(b.connect(t, "echo"))
	for i := range 12 {
		for _, prefix := range []string{"a/", "b%/"} {
			key := fmt.Sprintf("%s%02d", prefix, i)
			if _, err := client.PutValue(t.Context(), &pluginv1.PutValueRequest{Key: key}); err != nil {
				t.Fatal(err)
			}
		}
	}
	list := func(prefix, after string, limit uint32) []string {
		t.Helper()
		response, err := client.ListKeys(t.Context(), &pluginv1.ListKeysRequest{Prefix: prefix, After: after, Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		return response.GetKeys()
	}
	if got := list("", "", 0); len(got) != 24 {
		t.Errorf("%d keys, want 24", len(got))
	}
	if got := list("b%/", "b%/09", 4_000_000_000); !slices.Equal(got, []string{"b%/10", "b%/11"}) {
		t.Errorf("keys %q", got)
	}
	if got := list("a/", "", 2); !slices.Equal(got, []string{"a/00", "a/01"}) {
		t.Errorf("keys %q", got)
	}
}

func TestStateIsBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	client := pluginv1.NewStateClient(b.connect(t, "echo"))
	for _, key := range []string{"", strings.Repeat("k", 257)} {
		_, err := client.GetValue(t.Context(), &pluginv1.GetValueRequest{Key: key})
		wantCode(t, err, codes.InvalidArgument)
		_, err = client.PutValue(t.Context(), &pluginv1.PutValueRequest{Key: key})
		wantCode(t, err, codes.InvalidArgument)
		_, err = client.DeleteValue(t.Context(), &pluginv1.DeleteValueRequest{Key: key})
		wantCode(t, err, codes.InvalidArgument)
	}
	largest := make([]byte, 1<<20)
	if _, err := client.PutValue(t.Context(), &pluginv1.PutValueRequest{Key: strings.Repeat("k", 256), Value: largest}); err != nil {
		t.Errorf("the largest value under the longest key: %v", err)
	}
	_, err := client.PutValue(t.Context(), &pluginv1.PutValueRequest{Key: "k", Value: append(largest, 0)})
	wantCode(t, err, codes.InvalidArgument)
}
