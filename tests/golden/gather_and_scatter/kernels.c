#include <stdbool.h>
#include <stdint.h>

static inline int64_t maximum_i64(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t minimum_i64(int64_t a, int64_t b) { return a < b ? a : b; }

void cast_(int64_t* args, int64_t begin, int64_t end) {
  int64_t* out0 = (int64_t*)args[0];
  const int* in0 = (const int*)args[1];
  int64_t n0 = args[2];
  for (int64_t ridx0 = begin; ridx0 < end; ridx0++) {
    int64_t alu0 = (ridx0*n0);
    int val0 = *(in0+ridx0);
    int64_t alu1 = (int64_t)val0;
    for (int64_t ridx1 = 0; ridx1 < n0; ridx1++) {
      *(out0+(alu0+ridx1)) = alu1;
    }
  }
}

void expand(int64_t* args, int64_t begin, int64_t end) {
  int* out0 = (int*)args[0];
  int64_t n0 = args[1];
  for (int64_t ridx0 = begin; ridx0 < end; ridx0++) {
    int64_t alu0 = (ridx0*n0);
    for (int64_t ridx1 = 0; ridx1 < n0; ridx1++) {
      *(out0+(alu0+ridx1)) = ((int)(ridx1+1)-1);
    }
  }
}

void gather(int64_t* args, int64_t begin, int64_t end) {
  float* out0 = (float*)args[0];
  const float* in0 = (const float*)args[1];
  const int* in1 = (const int*)args[2];
  int64_t* flag = (int64_t*)args[3];
  int64_t n0 = args[4];
  for (int64_t ridx0 = begin; ridx0 < end; ridx0++) {
    int val0 = *(in1+ridx0);
    int64_t alu0 = (int64_t)((val0<0)?(int)((uint32_t)val0+10u):val0);
    bool alu1 = ((alu0<10)&&(0<=alu0));
    if (!alu1) { *(flag+0) = (maximum_i64(alu0, (-36028797018963968LL))+108086391056891904LL); }
    int64_t alu2 = (ridx0*n0);
    int64_t alu3 = ((alu1?alu0:0LL)*n0);
    for (int64_t ridx1 = 0; ridx1 < n0; ridx1++) {
      float val1 = *(in0+(ridx1+alu3));
      *(out0+(alu2+ridx1)) = val1;
    }
  }
}

void scatter_add_10_4(int64_t* args, int64_t begin, int64_t end) {
  float* out = (float*)args[0];
  const float* x = (const float*)args[1];
  const int64_t* index0 = (const int64_t*)args[2];
  const int* index1 = (const int*)args[3];
  const float* updates = (const float*)args[4];
  int64_t* flag = (int64_t*)args[5];
  for (int64_t ridx0 = 0; ridx0 < 40; ridx0++) {
    float val0 = *(x+ridx0);
    *(out+ridx0) = val0;
  }
  int64_t acc0 = 0;
  int64_t acc1 = 0;
  for (int64_t ridx1 = 0; ridx1 < 24; ridx1++) {
    int64_t val1 = *(index0+ridx1);
    int64_t alu0 = ((val1<0)?(int64_t)((uint64_t)val1+10uLL):val1);
    bool alu1 = ((alu0<10)&&(0<=alu0));
    int64_t alu2 = maximum_i64(minimum_i64(alu0, 36028797018963967LL), (-36028797018963968LL));
    acc0 = ((alu1||(acc0!=0))?acc0:(alu2+108086391056891904LL));
    int val2 = *(index1+ridx1);
    int64_t alu3 = (int64_t)val2;
    bool alu4 = ((alu3<4)&&(0<=alu3));
    acc1 = ((alu4||(acc1!=0))?acc1:(alu3+180143985094819840LL));
    int64_t alu5 = (int64_t)(((uint64_t)alu0*4uLL)+(uint64_t)alu3);
    if (alu1&&alu4) {
      float val3 = *(updates+ridx1);
      float val4 = *(out+alu5);
      *(out+alu5) = (val4+val3);
    }
  }
  int64_t alu6 = ((acc0!=0)?acc0:acc1);
  if (alu6!=0) { *(flag+0) = alu6; }
}
