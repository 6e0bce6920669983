// Package typo finds the known name that a misspelled name is meant to be.
package typo

import (
	"iter"
	"slices"
	"strings"
)

// maxTypos is the number of typing errors above which a name counts as another one.
const maxTypos = 2

// Nearest returns the name that is most similar to s, regardless of case. It returns "" if every
// name differs from s by more than two typing errors or by half of its length.
func Nearest(s string, names iter.Seq[string]) string {
	best, least := "", maxTypos+1
	s = strings.ToLower(s)
	for _, name := range slices.Sorted(names) {
		lower := strings.ToLower(name)
		if diff := len(s) - len(lower); diff > maxTypos || diff < -maxTypos { // s can be a whole request
			continue
		}
		if d := Distance(s, lower); d < least && 2*d < len(name) {
			best, least = name, d
		}
	}
	return best
}

// Distance returns the Levenshtein distance of a and b: the minimum number of bytes to insert,
// delete or replace to change a into b. Its time is proportional to the product of their lengths.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
