// What the CUDA runtime says of occupancy, for kernels of several register counts: prints JSON.
//     nvcc -arch=sm_90a -std=c++17 -o occupancy benchmarks/occupancy.cu && ./occupancy > tests/simulator/occupancy_h200.json
#include <cstdio>
#include <cuda_runtime.h>
template <int N> __device__ float work(const float* p) { float a[N]; 
#pragma unroll
for (int i=0;i<N;i++) a[i]=p[i*threadIdx.x]; 
#pragma unroll
for (int r=0;r<3;r++) for (int i=0;i<N;i++) a[i]=a[i]*a[(i*7+1)%N]+1.f; float s=0;
#pragma unroll
for (int i=0;i<N;i++) s+=a[i]; return s; }
#define K(name, N, R) __global__ void __maxnreg__(R) name(const float* p, float* o){ o[threadIdx.x]=work<N>(p);} 
K(k32, 8, 32) K(k40, 24, 40) K(k64, 48, 64) K(k96, 80, 96) K(k128, 112, 128) K(k168, 150, 168) K(k200,180,200) K(k255, 230, 255)
int main(){
  cudaDeviceProp d; cudaGetDeviceProperties(&d,0);
  void* fs[]={(void*)k32,(void*)k40,(void*)k64,(void*)k96,(void*)k128,(void*)k168,(void*)k200,(void*)k255};
  int threads[]={16,64,96,128,160,256,384,512,1024}; int smem[]={0,1024,16384,33000,49152,98304,115712,163840,232448};
  int rt=0, drv=0; cudaRuntimeGetVersion(&rt); cudaDriverGetVersion(&drv);
  printf("{\"gpu\": \"%s\", \"runtime\": %d, \"rows\": [\n", d.name, rt); bool first=true;
  for (int f=0;f<8;f++){ cudaFuncAttributes a; cudaFuncGetAttributes(&a,fs[f]);
    cudaFuncSetAttribute(fs[f], cudaFuncAttributeMaxDynamicSharedMemorySize, 232448);
    for (int t: threads) for (int s: smem){ int n=-1; cudaError_t e=cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n,fs[f],t,s);
      if (e!=cudaSuccess) { cudaGetLastError(); continue; }
      printf("%s[%d, %d, %d, %d]", first?"":",\n", t, a.numRegs, s, n); first=false; } }
  printf("]}\n"); }
