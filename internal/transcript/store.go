package transcript

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
)

// Limits of a Store.
const (
	// MaxText is the maximum size in bytes of each text of an entry. Longer texts are cut.
	MaxText = 256 << 10
	// MaxEntries is the maximum number of entries of a chat. The oldest are deleted.
	MaxEntries = 50_000
	// MaxFile is the maximum size in bytes of the database. The oldest chats that are not open are
	// deleted, then the oldest entries of the others.
	MaxFile = 256 << 20
)

const (
	// lockTimeout bounds the wait for another process that has the database open. The previous one of
	// the same browser may still be closing its chats.
	lockTimeout = 4 * time.Second
	// flushInterval is the maximum time until an entry is written. It is less than the second that
	// a crash may lose, because writing takes time too.
	flushInterval = 500 * time.Millisecond
	// maxPending bounds the bytes of texts that are not yet written.
	maxPending = 4 << 20
)

var (
	// ErrInUse means that another process has the database open.
	ErrInUse = errors.New("another browser uses the chats")
	// ErrNotFound means that the chat does not exist.
	ErrNotFound = errors.New("no such chat")
	// ErrNotStored means that writing to the file fails, for example because the disk is full. What is
	// not written remains in memory, to a limit, and is written when that is possible again.
	ErrNotStored = errors.New("the chats are not stored")
	// ErrCorrupt means that the file is not a database or is damaged.
	ErrCorrupt = errors.New("the database of chats is damaged")
)

// A Store is the database of chats. Its methods are safe for concurrent use.
type Store struct {
	path string
	db   *bolt.DB
	full int64 // size of the used part of the file above which chats are deleted

	// writing is held while the database is changed, and taken before mu.
	writing sync.Mutex
	broken  error          // set after a panic of the database; guarded by writing
	counts  map[string]int // number of stored entries by chat; guarded by writing

	mu      sync.Mutex // protects the fields below, up to closed
	chats   map[string]Chat
	dirty   map[string]bool // chats that differ from the database
	pending map[entryID]*waiting
	bytes   int   // of the texts of pending
	failed  error // of the last write in the background
	notify  func(error)
	removed func(Chat)
	closed  bool

	wake    chan struct{} // has an element if there is something to write
	stop    chan struct{}
	flusher sync.WaitGroup
}

// A waiting entry is not yet written.
type waiting struct {
	entry Entry // does not change
	size  int   // of its texts
}

// An entryID identifies an entry of a Store.
type entryID struct {
	chat string
	seq  int64
}

// Open opens the database at path, and creates it if it does not exist. Its directory becomes
// private. Open returns ErrInUse if another process has the database open, and ErrCorrupt if it
// cannot be read.
func Open(path string) (*Store, error) {
	if err := owneronly.MakePrivateDir(filepath.Dir(path)); err != nil {
		return nil, errs.Errorf(errs.ErrBadArgs, "Make the directory private, or use another data directory.",
			"directory of the chats %s: %w", filepath.Dir(path), err)
	}
	s := &Store{
		path: path, full: MaxFile - 4*maxPending,
		counts: map[string]int{}, chats: map[string]Chat{}, dirty: map[string]bool{}, pending: map[entryID]*waiting{},
		wake: make(chan struct{}, 1), stop: make(chan struct{}),
	}
	err := s.guard(func() (err error) {
		s.db, err = bolt.Open(path, 0o600, &bolt.Options{
			Timeout: lockTimeout, OpenFile: openFile, FreelistType: bolt.FreelistMapType, MaxSize: MaxFile,
		})
		if err != nil {
			return err
		}
		s.db.AllocSize = 1 << 20
		return errors.Join(s.db.View(s.checkSize), s.db.Update(s.load))
	})
	switch {
	case err == nil:
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, errs.Errorf(errs.ErrBadArgs, "Use the side panel of the other browser, or close that browser.",
			"%w (%s)", ErrInUse, path)
	default:
		if s.db != nil && !errors.Is(err, errPanic) {
			_ = s.db.Close()
		}
		if errors.Is(err, bolterrors.ErrInvalid) || errors.Is(err, bolterrors.ErrChecksum) || errors.Is(err, bolterrors.ErrVersionMismatch) {
			return nil, s.corrupt(err)
		}
		if errors.Is(err, ErrCorrupt) {
			return nil, err
		}
		return nil, errs.Errorf(errs.ErrBadArgs, "Check that the file belongs to you and that the disk is not full.",
			"opening the chats in %s: %w", path, err)
	}
	s.flusher.Go(s.flushRegularly)
	return s, nil
}

// openFile opens the file of the database without following a link.
func openFile(path string, flag int, mode fs.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, flag|owneronly.NoFollow, mode)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = errors.New("is not a regular file")
	default:
		err = owneronly.CheckOnlyName(info)
	}
	if err == nil && !owneronly.Private(info) {
		err = f.Chmod(0o600)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Names of buckets. entriesBucket contains a bucket for each chat.
var (
	chatsBucket   = []byte("chats")
	entriesBucket = []byte("entries")
)

// A record is a chat in the database.
type record struct {
	Chat
	Session  string `json:"session,omitempty"`
	Prompted bool   `json:"prompted,omitempty"`
	Dir      string `json:"dir,omitempty"`
	Count    int    `json:"count"`
}

// checkSize returns ErrCorrupt if the end of the file is missing.
func (s *Store) checkSize(tx *bolt.Tx) error {
	info, err := os.Stat(s.path)
	if err == nil && info.Size() < tx.Size() {
		err = s.corrupt(fmt.Errorf("it has %d of %d bytes", info.Size(), tx.Size()))
	}
	return err
}

// load reads all chats.
func (s *Store) load(tx *bolt.Tx) error {
	chats, err := tx.CreateBucketIfNotExists(chatsBucket)
	if err != nil {
		return err
	}
	entries, err := tx.CreateBucketIfNotExists(entriesBucket)
	if err != nil {
		return err
	}
	return chats.ForEach(func(key, value []byte) error {
		var r record
		if err := json.Unmarshal(value, &r); err != nil || r.ID != string(key) || entries.Bucket(key) == nil {
			return s.corrupt(fmt.Errorf("chat %q: %v", key, err))
		}
		r.Open, r.Running = false, false
		r.Chat.Session, r.Chat.Prompted, r.Chat.Dir = r.Session, r.Prompted, r.Dir
		s.chats[r.ID], s.counts[r.ID] = r.Chat, r.Count
		return nil
	})
}

// Create adds a chat. Its ID has 1 to 64 ASCII letters, digits, "-" and "_". If it returns
// ErrNotStored, the chat was added in memory.
func (s *Store) Create(c Chat) error {
	if !isChatID(c.ID) {
		return errs.Errorf(errs.ErrBadArgs, "Use letters and digits.", "invalid chat id %q", c.ID)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(); err != nil {
		return err
	}
	if _, ok := s.chats[c.ID]; ok {
		return errs.Errorf(errs.ErrBadArgs, "Choose another id.", "chat %s exists", c.ID)
	}
	s.setChat(c)
	return s.failed
}

func isChatID(id string) bool {
	return id != "" && len(id) <= 64 && strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

// Chat returns a chat, or ErrNotFound.
func (s *Store) Chat(id string) (Chat, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.chats[id]
	if !ok {
		return Chat{}, notFound(id)
	}
	return c, nil
}

func notFound(id string) error {
	return errs.Errorf(errs.ErrBadArgs, "List the chats again: it was deleted, or deleted to free space.", "%w: %q", ErrNotFound, id)
}

// Update changes a chat, except for its ID. Changes of Open and Running are not stored. If it returns
// ErrNotStored, the chat has changed in memory.
func (s *Store) Update(id string, change func(*Chat)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(); err != nil {
		return err
	}
	c, ok := s.chats[id]
	if !ok {
		return notFound(id)
	}
	change(&c)
	c.ID = id
	s.setChat(c)
	return s.failed
}

// setChat adds or changes a chat. The caller has locked mu.
func (s *Store) setChat(c Chat) {
	for _, text := range []*string{&c.Title, &c.Site, &c.Agent, &c.Session, &c.Dir} {
		*text = cut(*text, maxName)
	}
	s.chats[c.ID] = c
	s.dirty[c.ID] = true
	s.wakeFlusher()
}

// Put adds an entry to a chat, or replaces the entry with the same Seq. It returns before the
// entry is on disk; a crash loses at most the last second. The caller does not change the values
// that e refers to afterwards. If it returns ErrNotStored, the entry is in memory if there is space.
func (s *Store) Put(id string, e Entry) error {
	if e.Seq < 1 {
		return errs.Errorf(errs.ErrBadArgs, "Count entries from 1.", "entry %d of chat %s: invalid number", e.Seq, id)
	}
	size := limit(&e)
	s.mu.Lock()
	err := s.usable()
	if _, ok := s.chats[id]; err == nil && !ok {
		err = notFound(id)
	}
	if err != nil {
		s.mu.Unlock()
		return err
	}
	key, bytes := entryID{id, e.Seq}, s.bytes+size
	if old := s.pending[key]; old != nil {
		bytes -= old.size
	}
	failed, tooMuch := s.failed, bytes > maxPending
	if failed == nil || !tooMuch {
		s.pending[key] = &waiting{e, size}
		s.bytes = bytes
		s.wakeFlusher()
	}
	s.mu.Unlock()
	if failed == nil && tooMuch {
		return s.flush()
	}
	return failed
}

// usable returns the error for a Store that is closed or damaged. The caller has locked mu.
func (s *Store) usable() error {
	if s.closed {
		return errs.Errorf(errs.ErrBadArgs, "Open the side panel again.", "the chats are closed")
	}
	if errors.Is(s.failed, ErrNotStored) {
		return nil // reading and deleting work
	}
	return s.failed
}

// Notify sets the function that is called with the error when writing begins to fail, and with nil when
// it succeeds again. It must not call Close.
func (s *Store) Notify(f func(error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notify = f
}

// OnRemoved sets the function that is called with each chat that is deleted to free space. It must not
// change the Store.
func (s *Store) OnRemoved(f func(Chat)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removed = f
}

// wakeFlusher schedules a flush. The caller has locked mu.
func (s *Store) wakeFlusher() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// flushRegularly writes what is pending, until the Store is closed.
func (s *Store) flushRegularly() {
	for {
		select {
		case <-s.wake:
		case <-s.stop:
			return
		}
		select {
		case <-time.After(flushInterval):
		case <-s.stop:
			return
		}
		s.flushed(s.flush())
	}
}

// flushed sets the result of a flush in the background.
func (s *Store) flushed(err error) {
	s.mu.Lock()
	notify := s.notify
	if (err == nil) == (s.failed == nil) {
		notify = nil
	}
	s.failed = err
	if err != nil {
		s.wakeFlusher() // try again: space may have become available
	}
	s.mu.Unlock()
	if notify != nil {
		notify(err)
	}
}

// flush writes the pending changes.
func (s *Store) flush() error {
	s.writing.Lock()
	defer s.writing.Unlock()

	s.mu.Lock()
	bytes := s.bytes
	s.mu.Unlock()
	if err := s.makeRoom(int64(bytes)); err != nil {
		return s.writeError(err)
	}

	s.mu.Lock()
	batch := batch{entries: maps.Clone(s.pending), chats: map[string]Chat{}}
	for key := range batch.entries {
		batch.chats[key.chat] = s.chats[key.chat]
	}
	for id := range s.dirty {
		batch.chats[id] = s.chats[id]
	}
	clear(s.dirty)
	s.mu.Unlock()
	if len(batch.chats) == 0 {
		return nil
	}
	err := s.write(&batch)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		for id := range batch.chats { // none was deleted, because that needs s.writing
			s.dirty[id] = true
		}
		return s.writeError(err)
	}
	for key, e := range batch.entries {
		if s.pending[key] == e {
			delete(s.pending, key)
			s.bytes -= e.size
		}
	}
	return nil
}

func (s *Store) writeError(err error) error {
	if errors.Is(err, ErrCorrupt) {
		return err
	}
	return errs.Errorf(errs.ErrInternal, "Check that the disk is not full and that the file is writable; writing is tried again.",
		"%w: writing %s: %w", ErrNotStored, s.path, err)
}

// A batch is what one flush writes.
type batch struct {
	chats   map[string]Chat
	entries map[entryID]*waiting
}

// write writes a batch. The caller has locked writing.
func (s *Store) write(b *batch) error {
	keys := slices.SortedFunc(maps.Keys(b.entries), func(x, y entryID) int {
		return cmp.Or(cmp.Compare(x.chat, y.chat), cmp.Compare(x.seq, y.seq))
	})
	counts := map[string]int{}
	err := s.update(func(tx *bolt.Tx) error {
		all := tx.Bucket(entriesBucket)
		for id := range b.chats {
			if _, err := all.CreateBucketIfNotExists([]byte(id)); err != nil {
				return err
			}
			counts[id] = s.counts[id]
		}
		for _, key := range keys {
			entries := all.Bucket([]byte(key.chat))
			entries.FillPercent = 0.9 // most entries are added at the end
			n := seqKey(key.seq)
			if entries.Get(n) == nil {
				counts[key.chat]++
			}
			value, err := encode(&b.entries[key].entry)
			if err == nil {
				err = entries.Put(n, value)
			}
			if err != nil {
				return err
			}
		}
		for id, c := range b.chats {
			if err := deleteOldest(all.Bucket([]byte(id)), counts[id]-MaxEntries); err != nil {
				return err
			}
			counts[id] = min(counts[id], MaxEntries)
			if err := putChat(tx, c, counts[id]); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		maps.Copy(s.counts, counts)
	}
	return err
}

func putChat(tx *bolt.Tx, c Chat, count int) error {
	value, err := encode(record{Chat: c, Session: c.Session, Prompted: c.Prompted, Dir: c.Dir, Count: count})
	if err != nil {
		return err
	}
	return tx.Bucket(chatsBucket).Put([]byte(c.ID), value)
}

// deleteOldest deletes the first n entries of a chat.
func deleteOldest(entries *bolt.Bucket, n int) error {
	if n <= 0 {
		return nil
	}
	c := entries.Cursor()
	var oldest [][]byte
	for key, _ := c.First(); key != nil && len(oldest) < n; key, _ = c.Next() {
		oldest = append(oldest, slices.Clone(key))
	}
	for _, key := range oldest {
		if err := entries.Delete(key); err != nil {
			return err
		}
	}
	return nil
}

// makeRoom deletes old chats until bytes can be written. The caller has locked writing.
func (s *Store) makeRoom(bytes int64) error {
	for {
		var used int64
		err := s.view(func(tx *bolt.Tx) error {
			stats := s.db.Stats()
			used = tx.Size() - int64(stats.FreePageN+stats.PendingPageN)*int64(s.db.Info().PageSize)
			return nil
		})
		if err != nil || used+bytes <= s.full {
			return err
		}
		done, err := s.deleteOld()
		if err != nil || !done {
			return err
		}
	}
}

// deleteOld deletes the oldest chat that is not open, or entries of the longest chat if all are
// open. It returns false if there is nothing to delete. The caller has locked writing.
func (s *Store) deleteOld() (bool, error) {
	s.mu.Lock()
	var oldest Chat
	for _, c := range s.chats {
		if !c.Open && (oldest.ID == "" || c.Updated < oldest.Updated) {
			oldest = c
		}
	}
	removed := s.removed
	s.mu.Unlock()
	if oldest.ID != "" {
		err := s.delete(oldest.ID)
		if err == nil && removed != nil {
			removed(oldest)
		}
		return true, err
	}
	longest, count := "", 1
	for id, n := range s.counts {
		if n > count {
			longest, count = id, n
		}
	}
	if longest == "" {
		return false, nil
	}
	remove := count/10 + 1
	s.mu.Lock()
	c := s.chats[longest]
	s.mu.Unlock()
	err := s.update(func(tx *bolt.Tx) error {
		if err := deleteOldest(tx.Bucket(entriesBucket).Bucket([]byte(longest)), remove); err != nil {
			return err
		}
		return putChat(tx, c, count-remove)
	})
	if err == nil {
		s.counts[longest] = count - remove
	}
	return err == nil, err
}

// Delete removes a chat and its entries. It returns ErrNotFound if there is no such chat.
func (s *Store) Delete(id string) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	err := s.usable()
	if _, ok := s.chats[id]; err == nil && !ok {
		err = notFound(id)
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return s.delete(id)
}

// delete removes a chat from the database and from memory. The caller has locked writing.
func (s *Store) delete(id string) error {
	err := s.update(func(tx *bolt.Tx) error { return deleteChat(tx, id) })
	if err != nil && !errors.Is(err, ErrCorrupt) {
		err = s.deleteInSteps(id)
	}
	if err != nil {
		return s.writeError(err)
	}
	delete(s.counts, id)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.chats, id)
	delete(s.dirty, id)
	for key, e := range s.pending {
		if key.chat == id {
			delete(s.pending, key)
			s.bytes -= e.size
		}
	}
	return nil
}

// deleteChat removes a chat and its entries.
func deleteChat(tx *bolt.Tx, id string) error {
	if err := tx.Bucket(chatsBucket).Delete([]byte(id)); err != nil {
		return err
	}
	err := tx.Bucket(entriesBucket).DeleteBucket([]byte(id))
	if errors.Is(err, bolterrors.ErrBucketNotFound) {
		err = nil // it was not written yet
	}
	return err
}

// deleteInSteps removes a chat from the database while the disk is full. A transaction frees the pages
// that it replaces, but writes others first. So the first ones delete little, and write into the pages
// that the one before has freed. The caller has locked writing.
func (s *Store) deleteInSteps(id string) error {
	for n := 1; ; {
		done := false
		err := s.update(func(tx *bolt.Tx) error {
			entries := tx.Bucket(entriesBucket).Bucket([]byte(id))
			if entries != nil {
				if err := deleteOldest(entries, n); err != nil {
					return err
				}
				if key, _ := entries.Cursor().First(); key != nil {
					return nil
				}
			}
			done = true
			return deleteChat(tx, id)
		})
		switch {
		case err == nil && done:
			return nil
		case err == nil:
			s.counts[id] -= n
			n *= 2
		case n == 1 || errors.Is(err, ErrCorrupt):
			return err
		default:
			n = 1
		}
	}
}

// Close writes what is pending and closes the database.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	close(s.stop)
	s.flusher.Wait()
	err := s.flush()
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.broken != nil {
		return err // a panic may have left locks of the database
	}
	return errors.Join(err, s.db.Close())
}
