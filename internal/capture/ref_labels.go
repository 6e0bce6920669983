package capture

import (
	"image"
	"image/color"
	"image/draw"
)

// A refLabel is a ref to draw on its element in a screenshot. It is drawn on the image and not in
// the page, because the page could see it.
type refLabel struct {
	text string
	box  box // in the image
}

// glyphs are the characters of refs, 5 by 7 pixels, one byte per row.
var glyphs = map[rune][7]byte{
	'e': {0b00000, 0b00000, 0b01110, 0b10001, 0b11111, 0b10000, 0b01110},
	'0': {0b01110, 0b10001, 0b10011, 0b10101, 0b11001, 0b10001, 0b01110},
	'1': {0b00100, 0b01100, 0b00100, 0b00100, 0b00100, 0b00100, 0b01110},
	'2': {0b01110, 0b10001, 0b00001, 0b00110, 0b01000, 0b10000, 0b11111},
	'3': {0b11111, 0b00010, 0b00100, 0b00010, 0b00001, 0b10001, 0b01110},
	'4': {0b00010, 0b00110, 0b01010, 0b10010, 0b11111, 0b00010, 0b00010},
	'5': {0b11111, 0b10000, 0b11110, 0b00001, 0b00001, 0b10001, 0b01110},
	'6': {0b00110, 0b01000, 0b10000, 0b11110, 0b10001, 0b10001, 0b01110},
	'7': {0b11111, 0b00001, 0b00010, 0b00100, 0b01000, 0b01000, 0b01000},
	'8': {0b01110, 0b10001, 0b10001, 0b01110, 0b10001, 0b10001, 0b01110},
	'9': {0b01110, 0b10001, 0b10001, 0b01111, 0b00001, 0b00010, 0b01100},
}

const (
	glyphWidth  = 6 // including the space after the glyph
	glyphHeight = 7
	glyphScale  = 2 // keeps refs readable if the model receives the image scaled down
	glyphMargin = 2
)

var (
	labelColor = color.RGBA{R: 200, G: 0, B: 90, A: 255}
	inkColor   = color.RGBA{R: 255, G: 255, B: 255, A: 255}
)

// draw outlines the box and writes the ref above its upper left corner, within the canvas.
func (l refLabel) draw(canvas *image.RGBA) {
	fill := func(r image.Rectangle, c color.Color) {
		draw.Draw(canvas, r, image.NewUniform(c), image.Point{}, draw.Src)
	}
	frame := image.Rect(int(l.box.x), int(l.box.y), int(l.box.x+l.box.w), int(l.box.y+l.box.h))
	fill(image.Rect(frame.Min.X, frame.Min.Y, frame.Max.X, frame.Min.Y+1), labelColor)
	fill(image.Rect(frame.Min.X, frame.Max.Y-1, frame.Max.X, frame.Max.Y), labelColor)
	fill(image.Rect(frame.Min.X, frame.Min.Y, frame.Min.X+1, frame.Max.Y), labelColor)
	fill(image.Rect(frame.Max.X-1, frame.Min.Y, frame.Max.X, frame.Max.Y), labelColor)
	width := len(l.text)*glyphWidth*glyphScale + 2*glyphMargin
	height := glyphHeight*glyphScale + 2*glyphMargin
	x, y := max(frame.Min.X, 0), max(frame.Min.Y-height, 0)
	x = min(x, max(canvas.Bounds().Dx()-width, 0))
	fill(image.Rect(x, y, x+width, y+height), labelColor)
	for _, r := range l.text {
		for row, bits := range glyphs[r] {
			for col := range 5 {
				if bits&(1<<(4-col)) != 0 {
					px, py := x+glyphMargin+col*glyphScale, y+glyphMargin+row*glyphScale
					fill(image.Rect(px, py, px+glyphScale, py+glyphScale), inkColor)
				}
			}
		}
		x += glyphWidth * glyphScale
	}
}
