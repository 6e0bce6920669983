package frames

import "sync"

// Reports are the receivers of what page scripts report through the binding. The zero
// value is ready to use. It is safe for concurrent use.
type Reports struct {
	mu        sync.Mutex
	receivers map[string]func(payload []byte) // by token
}

// Subscribe registers f to be called, not concurrently, with each message that page scripts report
// with a token, until Unsubscribe is called. f must not block.
func (r *Reports) Subscribe(token string, f func(payload []byte)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.receivers == nil {
		r.receivers = make(map[string]func([]byte))
	}
	r.receivers[token] = f
}

// Unsubscribe ends a subscription. Its function is not called again.
func (r *Reports) Unsubscribe(token string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.receivers, token)
}

// Deliver passes a message to the subscriber of its token, if there is one.
func (r *Reports) Deliver(token string, payload []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f := r.receivers[token]; f != nil {
		f(payload)
	}
}
