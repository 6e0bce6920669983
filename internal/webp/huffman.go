package webp

import (
	"cmp"
	"math/bits"
	"slices"
)

// The alphabets of an image, in the order of the format. The alphabet of green has the lengths of
// backward references too.
const (
	green = iota
	red
	blue
	alpha
	far // distances
	alphabets
)

// alphabetSizes are the numbers of symbols of the alphabets.
var alphabetSizes = [alphabets]int{256 + 24, 256, 256, 256, 40}

// histograms are the frequencies of the symbols. It is a sink that counts tokens.
type histograms [alphabets][256 + 24]uint32

func (h *histograms) literal(p uint32) {
	h[green][p>>8&0xff]++
	h[red][p>>16]++
	h[blue][p&0xff]++
}

func (h *histograms) copy(length, distance int) {
	symbol, _, _ := prefix(length)
	h[green][256+symbol]++
	symbol, _, _ = prefix(distance)
	h[far][symbol]++
}

// codes returns the prefix codes of the histograms.
func (h *histograms) codes() (codes [alphabets]code) {
	h[alpha][255]++
	for i := range codes {
		codes[i] = newCode(h[i][:alphabetSizes[i]])
	}
	return codes
}

// maxCodeLength is the maximum length of a prefix code.
const maxCodeLength = 15

// A code is a canonical prefix code. The bits of a symbol are in the order in which they are
// written. If only one symbol is in use, its length is 0.
type code struct {
	lengths []uint8
	bits    []uint16
	used    int // number of symbols in use
	only    int // the first of them
}

func newCode(counts []uint32) code {
	c := code{lengths: make([]uint8, len(counts)), bits: make([]uint16, len(counts))}
	for s := len(counts) - 1; s >= 0; s-- {
		if counts[s] > 0 {
			c.used++
			c.only = s
		}
	}
	if c.used < 2 {
		return c
	}
	for !c.assign(counts) {
		for s := range counts { // flatten the distribution until the codes are short enough
			counts[s] = (counts[s] + 1) / 2
		}
	}
	next, perLength := [maxCodeLength + 2]uint16{}, [maxCodeLength + 1]uint16{}
	for _, n := range c.lengths {
		perLength[n]++
	}
	perLength[0] = 0
	for n := 1; n <= maxCodeLength; n++ {
		next[n+1] = (next[n] + perLength[n]) << 1
	}
	for s, n := range c.lengths {
		if n > 0 {
			c.bits[s] = bits.Reverse16(next[n]) >> (16 - n)
			next[n]++
		}
	}
	return c
}

// assign sets the lengths to those of a Huffman code. It reports false if one is too long.
func (c *code) assign(counts []uint32) bool {
	var q []*node // sorted
	for s, n := range counts {
		if n > 0 {
			q = append(q, &node{count: uint64(n), symbol: s})
		}
	}
	slices.SortFunc(q, compareNodes)
	for len(q) > 1 {
		a, b := q[0], q[1]
		merged := &node{count: a.count + b.count, symbol: a.symbol, left: a, right: b}
		i, _ := slices.BinarySearchFunc(q[2:], merged, compareNodes)
		q = slices.Insert(q[2:], i, merged)
	}
	return c.descend(q[0], 0)
}

func (c *code) descend(n *node, depth uint8) bool {
	if n.left == nil {
		c.lengths[n.symbol] = depth
		return depth <= maxCodeLength
	}
	return c.descend(n.left, depth+1) && c.descend(n.right, depth+1)
}

// writeTo writes the lengths of the code.
func (c *code) writeTo(w *bitWriter) {
	if c.used < 2 { // the symbol is below 256: an image begins with a literal
		w.write(1|0<<1|1<<2, 3) // a simple code of one symbol of 8 bits
		w.write(uint32(c.only), 8)
		return
	}
	w.write(0, 1)
	// The lengths themselves are written in a code in which each of 0 to 15 has 4 bits. That takes
	// about 500 bytes for all alphabets. The order of these lengths is 17, 18, 0 to 5, 16, 6 to 15.
	const codeLengths = 19
	w.write(codeLengths-4, 4)
	for i := range codeLengths {
		switch i {
		case 0, 1, 8:
			w.write(0, 3)
		default:
			w.write(4, 3)
		}
	}
	w.write(0, 1) // lengths of all symbols follow
	for _, n := range c.lengths {
		w.write(uint32(bits.Reverse8(n)>>4), 4)
	}
}

// A node is a node of a Huffman tree.
type node struct {
	count       uint64
	symbol      int // of a leaf; otherwise of the leftmost leaf, so that the tree is deterministic
	left, right *node
}

func compareNodes(a, b *node) int {
	return cmp.Or(cmp.Compare(a.count, b.count), cmp.Compare(a.symbol, b.symbol))
}
