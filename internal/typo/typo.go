// Package typo tells how far a name is from the one that was probably meant.
package typo

// Distance returns how many bytes have to be put in, left out or changed to
// make b of a (Levenshtein). It takes time in proportion to the product of
// their lengths.
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
