//go:build ignore

// Icons draws the icons of the extension:
//
//	go run tools/icons.go extension/icons
//
// The mark is a C around a dot: what is shared, and what holds it. Small
// sizes have a bolder stroke, so that it can be read at 16 pixels.
package main

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"log"
	"math"
	"os"
	"path/filepath"
)

// fine is how many samples a pixel has, each way.
const fine = 16

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: go run tools/icons.go DIRECTORY")
	}
	for size, stroke := range map[int]float64{16: 0.15, 32: 0.13, 48: 0.12, 128: 0.115} {
		f, err := os.Create(filepath.Join(os.Args[1], fmt.Sprintf("%d.png", size)))
		if err != nil {
			log.Fatal(err)
		}
		if err := png.Encode(f, icon(size, stroke)); err != nil {
			log.Fatal(err)
		}
		if err := f.Close(); err != nil {
			log.Fatal(err)
		}
	}
}

func icon(size int, stroke float64) image.Image {
	img := image.NewNRGBA(image.Rect(0, 0, size, size))
	for y := range size {
		for x := range size {
			var inside, white float64
			for j := range fine {
				for i := range fine {
					u := (float64(x) + (float64(i)+0.5)/fine) / float64(size)
					v := (float64(y) + (float64(j)+0.5)/fine) / float64(size)
					if card(u, v) {
						inside++
						if mark(u-0.5, v-0.5, stroke) {
							white++
						}
					}
				}
			}
			if inside > 0 {
				img.SetNRGBA(x, y, blend(white/inside, inside/(fine*fine)))
			}
		}
	}
	return img
}

// card reports whether a point is on the square with round corners.
func card(u, v float64) bool {
	const radius = 0.22
	dx := max(radius-u, u-(1-radius), 0)
	dy := max(radius-v, v-(1-radius), 0)
	return math.Hypot(dx, dy) <= radius
}

// mark reports whether a point, from the middle, is on the C or the dot.
func mark(x, y, stroke float64) bool {
	const outer, dot, gap = 0.375, 0.11, 0.75 // gap: half of the opening, in radians
	r := math.Hypot(x, y)
	if r <= dot {
		return true
	}
	return r <= outer && r >= outer-stroke && math.Abs(math.Atan2(y, x)) > gap
}

// blend mixes the blue of the card with white.
func blend(white, alpha float64) color.NRGBA {
	mix := func(c float64) uint8 { return uint8(math.Round(c + (255-c)*white)) }
	return color.NRGBA{mix(0x1a), mix(0x5f), mix(0xd0), uint8(math.Round(255 * alpha))}
}
