package credential

import (
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
	last   verdict
}

func newKeyring(values []string, log hclog.Logger) *keyring {
	r := &keyring{log: log}
	for i, value := range values {
		r.keys = append(r.keys, &key{number: i + 1, value: value})
	}
	return r
}

// order returns the keys to try: those that do not rest, as they stand in the list, so that it is mostly the same one, whose
// account has the conversation cached. If all rest it is all of them, as one may be good again before its time.
func (r *keyring) order() []*key {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	awake := slices.DeleteFunc(slices.Clone(r.keys), func(k *key) bool { return k.last.until.After(now) })
	if len(awake) > 0 {
		return awake
	}
	return slices.SortedStableFunc(slices.Values(r.keys), func(a, b *key) int { return a.last.compare(b.last) })
}

// tell takes what an answer says of a key. The log is told when that changes.
func (r *keyring) tell(k *key, v verdict, status int) {
	if v.why == accepted && status >= http.StatusBadRequest {
		return // it failed for another reason
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	before := k.last
	k.last = v
	switch {
	case v.why == before.why:
	case v.why == accepted:
		r.log.Info("an API key works again", "key", k.number)
	default:
		r.log.Warn("an API key is refused and rests", "key", k.number, "of", len(r.keys), "cause", v.why, "status", status,
			"until", v.until.Format(time.RFC3339))
	}
}
