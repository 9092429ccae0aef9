package credential

import (
	"cmp"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// keyring knows which keys rest.
type keyring struct {
	log hclog.Logger

	mu   sync.Mutex
	keys []*key
}

// key is one of the keys. What may change is the keyring's.
type key struct {
	number int // from 1: what the log calls it
	value  string

	until time.Time // it rests
	why   verdict
}

func newKeyring(values []string, log hclog.Logger) *keyring {
	r := &keyring{log: log}
	for i, value := range values {
		r.keys = append(r.keys, &key{number: i + 1, value: value})
	}
	return r
}

// order returns the keys to try: those that do not rest, the first of the list first, so that it is mostly the same one,
// whose account has the conversation cached. If all rest it is one: of those with the least cause the first to wake.
func (r *keyring) order() []*key {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	awake := slices.DeleteFunc(slices.Clone(r.keys), func(k *key) bool { return k.until.After(now) })
	if len(awake) > 0 {
		return awake
	}
	return []*key{slices.MinFunc(r.keys, func(a, b *key) int {
		return cmp.Or(cmp.Compare(a.why, b.why), a.until.Compare(b.until))
	})}
}

// tell takes what an answer says of a key. The log is told when that changes.
func (r *keyring) tell(k *key, v verdict, answer *http.Response) {
	if v == accepted && answer.StatusCode >= http.StatusBadRequest {
		return // it failed for another reason
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	before := k.why
	k.why, k.until = v, time.Time{}
	if v != accepted {
		k.until = now.Add(rest(v, answer.Header, now))
	}
	switch {
	case v == before:
	case v == accepted:
		r.log.Info("an API key works again", "key", k.number)
	default:
		r.log.Warn("an API key is refused and rests", "key", k.number, "of", len(r.keys), "cause", v, "status", answer.StatusCode, "until", k.until)
	}
}
