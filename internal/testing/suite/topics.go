package suite

import (
	"iter"
	"maps"
	"slices"
	"testing"
)

// A Topic is a group of cases.
type Topic struct {
	Name string // name of its subtest
	// Cases runs the cases by methods of the Runner, such as Page. It is also called without a test and a
	// harness, to list the cases: only a case may use these.
	Cases func(*Runner, *testing.T)
}

// An Info describes a case.
type Info struct {
	Topic string
	Case  string // such as "temporarily covered"
	Page  string // file in testdata that it starts on; empty if it opens its own
	Deep  bool   // a deep test (see package tier)
}

// List lists the cases of topics. With deep, all of them are deep tests.
func List(topics []Topic, deep bool) []Info {
	var all []Info
	for _, topic := range topics {
		topic.Cases(&Runner{deep: deep, list: func(name, file string, deep bool) {
			all = append(all, Info{topic.Name, name, file, deep})
		}}, nil)
	}
	return all
}

// Sorted iterates over a map in the order of its keys, because the list of cases must be the same
// each time.
func Sorted[V any](m map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if !yield(key, m[key]) {
				return
			}
		}
	}
}
