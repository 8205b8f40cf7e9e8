/* Reads calls of kernels from a file, does them, writes the memory they leave to another.

   A call: kernel, begin, end, pieces of memory, buffers, further cells, as 64-bit numbers; then the
   bytes and contents of each piece, the piece of each buffer, and the cells. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef void (*kernel)(int64_t *, int64_t, int64_t);
extern const kernel kernels[];

static int64_t number(FILE *file) {
  int64_t value;
  if (fread(&value, 8, 1, file) != 1) exit(3);
  return value;
}

int main(int count, char **names) {
  if (count != 3) return 2;
  FILE *in = fopen(names[1], "rb"), *out = fopen(names[2], "wb");
  if (!in || !out) return 2;
  for (int64_t calls = number(in); calls; calls--) {
    int64_t which = number(in), begin = number(in), end = number(in);
    int64_t pieces = number(in), buffers = number(in), more = number(in);
    int64_t *sizes = calloc(pieces + 1, 8), *cells = calloc(buffers + more + 1, 8);
    char **memory = calloc(pieces + 1, sizeof(char *));
    for (int64_t i = 0; i < pieces; i++) {
      sizes[i] = number(in);
      memory[i] = aligned_alloc(64, (sizes[i] + 127) / 64 * 64);
      if (fread(memory[i], 1, sizes[i], in) != (size_t)sizes[i]) return 3;
    }
    for (int64_t i = 0; i < buffers; i++) cells[i] = (int64_t)memory[number(in)];
    for (int64_t i = 0; i < more; i++) cells[buffers + i] = number(in);
    kernels[which](cells, begin, end);
    for (int64_t i = 0; i < pieces; i++) {
      fwrite(memory[i], 1, sizes[i], out);
      free(memory[i]);
    }
    free(memory), free(sizes), free(cells);
  }
  return fclose(out) ? 4 : 0;
}
