define void @mul(ptr noalias %args, i64 %begin, i64 %end) #0 {
start:
  %v9 = getelementptr inbounds i64, ptr %args, i64 1
  %v10 = load ptr, ptr %v9
  %v14 = getelementptr inbounds i64, ptr %args, i64 0
  %v15 = load ptr, ptr %v14
  %v1 = sub i64 %end, %begin
  %v2 = add i64 %begin, %v1
  %v3 = and i64 %v1, -4
  %v4 = add i64 %begin, %v3
  %v7 = icmp slt i64 %begin, %v4
  br i1 %v7, label %b5, label %b6
b5:
  %v8 = phi i64 [ %begin, %start ], [ %v17, %b5 ]
  %v11 = getelementptr inbounds float, ptr %v10, i64 %v8
  %v12 = load <4 x float>, ptr %v11, align 4
  %v13 = fmul <4 x float> %v12, splat (float 0x0000000000000000)
  %v16 = getelementptr inbounds float, ptr %v15, i64 %v8
  store <4 x float> %v13, ptr %v16, align 4
  %v17 = add i64 %v8, 4
  %v18 = icmp slt i64 %v17, %v4
  br i1 %v18, label %b5, label %b6, !llvm.loop !2
b6:
  %v19 = sub i64 %v2, %v4
  %v20 = icmp sgt i64 %v19, 0
  br i1 %v20, label %b21, label %b22
b21:
  %v23 = trunc i64 %v19 to i32
  %v24 = insertelement <4 x i32> poison, i32 %v23, i64 0
  %v25 = shufflevector <4 x i32> %v24, <4 x i32> poison, <4 x i32> zeroinitializer
  %v26 = icmp slt <4 x i32> <i32 0, i32 1, i32 2, i32 3>, %v25
  %v27 = getelementptr float, ptr %v10, i64 %v4
  %v28 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr %v27, i32 4, <4 x i1> %v26, <4 x float> zeroinitializer)
  %v29 = fmul <4 x float> %v28, splat (float 0x0000000000000000)
  %v30 = getelementptr float, ptr %v15, i64 %v4
  call void @llvm.masked.store.v4f32.p0(<4 x float> %v29, ptr %v30, i32 4, <4 x i1> %v26)
  br label %b22
b22:
  ret void
}
declare <4 x float> @llvm.masked.load.v4f32.p0(ptr, i32, <4 x i1>, <4 x float>)
declare void @llvm.masked.store.v4f32.p0(<4 x float>, ptr, i32, <4 x i1>)
attributes #0 = { nounwind "no-trapping-math"="true" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
!0 = !{!"llvm.loop.vectorize.enable", i1 false}
!1 = !{!"llvm.loop.unroll.disable"}
!2 = distinct !{!2, !0, !1}


define void @add(ptr noalias %args, i64 %begin, i64 %end) #0 {
start:
  %v9 = getelementptr inbounds i64, ptr %args, i64 1
  %v10 = load ptr, ptr %v9
  %v13 = getelementptr inbounds i64, ptr %args, i64 3
  %v14 = load i64, ptr %v13
  %v15 = trunc i64 %v14 to i32
  %v16 = bitcast i32 %v15 to float
  %v20 = getelementptr inbounds i64, ptr %args, i64 2
  %v21 = load ptr, ptr %v20
  %v25 = getelementptr inbounds i64, ptr %args, i64 0
  %v26 = load ptr, ptr %v25
  %v17 = insertelement <4 x float> poison, float %v16, i64 0
  %v18 = shufflevector <4 x float> %v17, <4 x float> poison, <4 x i32> zeroinitializer
  %v1 = sub i64 %end, %begin
  %v2 = add i64 %begin, %v1
  %v3 = and i64 %v1, -4
  %v4 = add i64 %begin, %v3
  %v7 = icmp slt i64 %begin, %v4
  br i1 %v7, label %b5, label %b6
b5:
  %v8 = phi i64 [ %begin, %start ], [ %v28, %b5 ]
  %v11 = getelementptr inbounds float, ptr %v10, i64 %v8
  %v12 = load <4 x float>, ptr %v11, align 4
  %v19 = fmul <4 x float> %v12, %v18
  %v22 = getelementptr inbounds float, ptr %v21, i64 %v8
  %v23 = load <4 x float>, ptr %v22, align 4
  %v24 = fadd <4 x float> %v19, %v23
  %v27 = getelementptr inbounds float, ptr %v26, i64 %v8
  store <4 x float> %v24, ptr %v27, align 4
  %v28 = add i64 %v8, 4
  %v29 = icmp slt i64 %v28, %v4
  br i1 %v29, label %b5, label %b6, !llvm.loop !2
b6:
  %v30 = sub i64 %v2, %v4
  %v31 = icmp sgt i64 %v30, 0
  br i1 %v31, label %b32, label %b33
b32:
  %v34 = trunc i64 %v30 to i32
  %v35 = insertelement <4 x i32> poison, i32 %v34, i64 0
  %v36 = shufflevector <4 x i32> %v35, <4 x i32> poison, <4 x i32> zeroinitializer
  %v37 = icmp slt <4 x i32> <i32 0, i32 1, i32 2, i32 3>, %v36
  %v38 = getelementptr float, ptr %v10, i64 %v4
  %v39 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr %v38, i32 4, <4 x i1> %v37, <4 x float> zeroinitializer)
  %v40 = fmul <4 x float> %v39, %v18
  %v41 = getelementptr float, ptr %v21, i64 %v4
  %v42 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr %v41, i32 4, <4 x i1> %v37, <4 x float> zeroinitializer)
  %v43 = fadd <4 x float> %v40, %v42
  %v44 = getelementptr float, ptr %v26, i64 %v4
  call void @llvm.masked.store.v4f32.p0(<4 x float> %v43, ptr %v44, i32 4, <4 x i1> %v37)
  br label %b33
b33:
  ret void
}
declare <4 x float> @llvm.masked.load.v4f32.p0(ptr, i32, <4 x i1>, <4 x float>)
declare void @llvm.masked.store.v4f32.p0(<4 x float>, ptr, i32, <4 x i1>)
attributes #0 = { nounwind "no-trapping-math"="true" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
!0 = !{!"llvm.loop.vectorize.enable", i1 false}
!1 = !{!"llvm.loop.unroll.disable"}
!2 = distinct !{!2, !0, !1}
