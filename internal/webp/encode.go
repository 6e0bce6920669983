// Package webp encodes opaque images as lossless WebP (VP8L). The browser encodes WebP too, but not
// an image on which this process has drawn.
//
// The encoder uses the subtract-green transform, one candidate of a hash table and the pixels to
// the left and above for backward references, and one set of prefix codes. The format is specified
// in RFC 9649.
package webp

import (
	"encoding/binary"
	"errors"
	"image"
	"math/bits"
)

// MaxSize is the maximum width and height of an image. The format allows one more if it is
// lossless.
const MaxSize = 16_383

// Encode returns img as a WebP file. It ignores the alpha channel. It returns an error if img is
// empty or wider or higher than MaxSize.
func Encode(img *image.RGBA) ([]byte, error) {
	width, height := img.Rect.Dx(), img.Rect.Dy()
	if width < 1 || height < 1 || width > MaxSize || height > MaxSize {
		return nil, errors.New("invalid size of a WebP image")
	}
	pix := pixels(img)
	var count histograms
	scan(pix, width, &count)
	codes := count.codes()

	w := &bitWriter{out: make([]byte, 20, 20+len(pix)/2)}
	w.write(0x2f, 8) // signature
	w.write(uint32(width-1), 14)
	w.write(uint32(height-1), 14)
	w.write(0, 1)           // no alpha
	w.write(0, 3)           // version
	w.write(1|2<<1, 3)      // a transform: subtract green
	w.write(0|0<<1|0<<2, 3) // no other transform, no color cache, no meta prefix codes
	for i := range codes {
		codes[i].writeTo(w)
	}
	scan(pix, width, &writer{w, &codes})
	data := w.close()
	size := len(data) - 20
	if size%2 != 0 {
		data = append(data, 0)
	}
	copy(data, "RIFF\x00\x00\x00\x00WEBPVP8L")
	binary.LittleEndian.PutUint32(data[4:], uint32(len(data)-8))
	binary.LittleEndian.PutUint32(data[16:], uint32(size))
	return data, nil
}

// pixels returns the pixels of img as red, green, blue from the highest byte, after the
// subtract-green transform.
func pixels(img *image.RGBA) []uint32 {
	width, height := img.Rect.Dx(), img.Rect.Dy()
	pix := make([]uint32, 0, width*height)
	for y := range height {
		row := img.Pix[y*img.Stride:][:4*width]
		for ; len(row) > 0; row = row[4:] {
			r, g, b := row[0], row[1], row[2]
			pix = append(pix, uint32(r-g)<<16|uint32(g)<<8|uint32(b-g))
		}
	}
	return pix
}

// A sink receives the tokens of an image.
type sink interface {
	literal(p uint32)
	copy(length, distance int) // distance is a distance code
}

// Limits of backward references, in pixels.
const (
	minCopy   = 3
	maxCopy   = 4096
	maxBefore = 1<<20 - nearCodes
)

const (
	hashBits = 16
	// nearCodes is the number of distance codes for pixels in the neighborhood, which come before
	// those for distances in scan order.
	nearCodes = 120
)

// scan divides pix into literals and backward references.
func scan(pix []uint32, width int, out sink) {
	last := make([]int32, 1<<hashBits) // index after the last pixel pair with a hash; 0 means none
	hash := func(i int) uint32 {
		return (pix[i]*0x9e3779b1 ^ pix[i+1]*0x85ebca6b) >> (32 - hashBits)
	}
	for i := 0; i < len(pix); {
		if i+minCopy > len(pix) {
			out.literal(pix[i])
			i++
			continue
		}
		h := hash(i)
		best, distance := 0, 0
		for _, d := range [...]int{1, width, i + 1 - int(last[h])} {
			if d > i || d > maxBefore || d < 1 {
				continue
			}
			if n := matching(pix, i-d, i); n > best {
				best, distance = n, d
			}
		}
		last[h] = int32(i + 1)
		if best < minCopy {
			out.literal(pix[i])
			i++
			continue
		}
		code := distance + nearCodes
		switch distance {
		case width:
			code = 1
		case 1:
			code = 2
		}
		out.copy(best, code)
		for j := i + 1; j < i+best && j+1 < len(pix); j++ {
			last[hash(j)] = int32(j + 1)
		}
		i += best
	}
}

// matching returns how many pixels from b on equal those from a on, up to maxCopy.
func matching(pix []uint32, a, b int) int {
	end := min(len(pix)-b, maxCopy)
	for n := range end {
		if pix[a+n] != pix[b+n] {
			return n
		}
	}
	return end
}

// prefix returns the prefix code of a length or distance, and the number and value of the extra
// bits that follow it.
func prefix(v int) (symbol int, extra uint, value uint32) {
	v--
	if v < 4 {
		return v, 0, 0
	}
	high := bits.Len(uint(v)) - 1
	extra = uint(high - 1)
	return 2*high + v>>extra&1, extra, uint32(v & (1<<extra - 1))
}

// A bitWriter writes values from the lowest bit on.
type bitWriter struct {
	out []byte
	acc uint64
	n   uint
}

func (w *bitWriter) write(v uint32, n uint) {
	w.acc |= uint64(v) << w.n
	w.n += n
	for w.n >= 8 {
		w.out = append(w.out, byte(w.acc))
		w.acc >>= 8
		w.n -= 8
	}
}

// close writes the remaining bits and returns the bytes, after the 20 bytes of the header.
func (w *bitWriter) close() []byte {
	if w.n > 0 {
		w.write(0, 8-w.n)
	}
	return w.out
}

// A writer writes tokens.
type writer struct {
	*bitWriter
	codes *[alphabets]code
}

func (w *writer) literal(p uint32) {
	w.symbol(green, int(p>>8&0xff))
	w.symbol(red, int(p>>16))
	w.symbol(blue, int(p&0xff))
}

func (w *writer) copy(length, distance int) {
	symbol, extra, value := prefix(length)
	w.symbol(green, 256+symbol)
	w.write(value, extra)
	symbol, extra, value = prefix(distance)
	w.symbol(far, symbol)
	w.write(value, extra)
}

func (w *writer) symbol(alphabet, symbol int) {
	c := &w.codes[alphabet]
	w.write(uint32(c.bits[symbol]), uint(c.lengths[symbol]))
}
