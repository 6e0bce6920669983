package transcript

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	bolt "go.etcd.io/bbolt"
)

// Chats returns the chats whose title or texts contain query, the last updated first. The case of
// letters does not matter.
func (s *Store) Chats(query string) ([]Chat, error) {
	s.mu.Lock()
	chats := slices.SortedFunc(maps.Values(s.chats), func(x, y Chat) int {
		return cmp.Or(cmp.Compare(y.Updated, x.Updated), cmp.Compare(y.Created, x.Created), cmp.Compare(x.ID, y.ID))
	})
	pending := maps.Clone(s.pending)
	s.mu.Unlock()
	if query == "" {
		return chats, nil
	}
	query = strings.ToLower(query)
	quoted, err := encode(query)
	if err != nil {
		return nil, err
	}
	quoted = quoted[1 : len(quoted)-1]
	found := map[string]bool{}
	for key, w := range pending {
		found[key.chat] = found[key.chat] || w.entry.contains(query)
	}
	err = s.view(func(tx *bolt.Tx) error {
		for _, c := range chats {
			if found[c.ID] || strings.Contains(strings.ToLower(c.Title), query) {
				found[c.ID] = true
				continue
			}
			entries := tx.Bucket(entriesBucket).Bucket([]byte(c.ID))
			if entries == nil {
				continue
			}
			cursor := entries.Cursor()
			for key, value := cursor.First(); key != nil && !found[c.ID]; key, value = cursor.Next() {
				if _, newer := pending[entryID{c.ID, seqOf(key)}]; newer || !bytes.Contains(bytes.ToLower(value), quoted) {
					continue
				}
				e, err := s.decode(value)
				if err != nil {
					return err
				}
				found[c.ID] = e.contains(query)
			}
		}
		return nil
	})
	return slices.DeleteFunc(chats, func(c Chat) bool { return !found[c.ID] }), err
}

// contains reports whether a text of e contains query, which is in lower case.
func (e *Entry) contains(query string) bool {
	texts := []string{e.Text}
	if e.Tool != nil {
		texts = append(texts, e.Tool.Title, e.Tool.Site, e.Tool.Input, e.Tool.Output)
	}
	for _, step := range e.Plan {
		texts = append(texts, step.Text)
	}
	if e.Permission != nil {
		texts = append(texts, e.Permission.Title, e.Permission.Detail)
	}
	if e.Quote != nil {
		texts = append(texts, e.Quote.Text, e.Quote.URL)
	}
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(strings.ToLower(text), query) })
}

// Last returns the largest Seq of the entries of a chat, or 0.
func (s *Store) Last(id string) (int64, error) {
	entries, _, err := s.Entries(id, 0, 1)
	if err != nil || len(entries) == 0 {
		return 0, err
	}
	return entries[0].Seq, nil
}

// Entries returns the newest limit entries of a chat whose Seq is less than before, oldest first,
// and whether there are older ones. A before of 0 means no such condition, a limit of 0 no limit.
func (s *Store) Entries(id string, before int64, limit int) (entries []Entry, more bool, err error) {
	if before == 0 {
		before = math.MaxInt64
	}
	if limit == 0 {
		limit = math.MaxInt
	}
	s.mu.Lock()
	var pending []*Entry // newest first
	for key, w := range s.pending {
		if key.chat == id && key.seq < before {
			pending = append(pending, &w.entry)
		}
	}
	_, ok := s.chats[id]
	s.mu.Unlock()
	if !ok {
		return nil, false, notFound(id)
	}
	slices.SortFunc(pending, func(x, y *Entry) int { return cmp.Compare(y.Seq, x.Seq) })
	add := func(e Entry) {
		if len(entries) == limit {
			more = true
			return
		}
		entries = append(entries, e)
	}
	err = s.view(func(tx *bolt.Tx) error {
		bucket := tx.Bucket(entriesBucket).Bucket([]byte(id))
		if bucket == nil {
			return nil // nothing of the chat was written yet
		}
		cursor := bucket.Cursor()
		newest := cursor.Prev
		if key, _ := cursor.Seek(seqKey(before)); key == nil { // all are older
			newest = cursor.Last
		}
		for key, value := newest(); key != nil && !more; key, value = cursor.Prev() {
			seq := seqOf(key)
			for len(pending) > 0 && pending[0].Seq > seq {
				add(*pending[0])
				pending = pending[1:]
			}
			if len(pending) > 0 && pending[0].Seq == seq {
				continue // replaced
			}
			if len(entries) == limit {
				more = true
				break
			}
			e, err := s.decode(value)
			if err != nil {
				return err
			}
			e.Seq = seq
			add(e)
		}
		return nil
	})
	for _, e := range pending {
		add(*e)
	}
	slices.Reverse(entries)
	return entries, more, err
}

// each calls f with the entries of a chat whose Seq is at least from, oldest first, until f returns
// false.
func (s *Store) each(id string, from int64, f func(*Entry) (more bool)) error {
	s.mu.Lock()
	var pending []*Entry // oldest first
	for key, w := range s.pending {
		if key.chat == id && key.seq >= from {
			pending = append(pending, &w.entry)
		}
	}
	s.mu.Unlock()
	slices.SortFunc(pending, func(x, y *Entry) int { return cmp.Compare(x.Seq, y.Seq) })
	more := true
	// upTo calls f with the pending entries up to seq, and reports whether one has this seq.
	upTo := func(seq int64) (replaced bool) {
		for more && len(pending) > 0 && pending[0].Seq <= seq {
			replaced = pending[0].Seq == seq
			more = f(pending[0])
			pending = pending[1:]
		}
		return replaced
	}
	err := s.view(func(tx *bolt.Tx) error {
		bucket := tx.Bucket(entriesBucket).Bucket([]byte(id))
		if bucket == nil {
			return nil // nothing of the chat was written yet
		}
		cursor := bucket.Cursor()
		for key, value := cursor.Seek(seqKey(from)); key != nil && more; key, value = cursor.Next() {
			if upTo(seqOf(key)) || !more {
				continue
			}
			e, err := s.decode(value)
			if err != nil {
				return err
			}
			e.Seq = seqOf(key)
			more = f(&e)
		}
		return nil
	})
	if err == nil {
		upTo(math.MaxInt64)
	}
	return err
}

func seqOf(key []byte) int64 { return int64(binary.BigEndian.Uint64(key)) }

func (s *Store) decode(value []byte) (Entry, error) {
	var e Entry
	if err := json.Unmarshal(value, &e); err != nil {
		return e, s.corrupt(fmt.Errorf("an entry: %w", err))
	}
	return e, nil
}
