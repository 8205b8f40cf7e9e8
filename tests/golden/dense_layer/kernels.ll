define void @relu(ptr noalias %args, i64 %begin, i64 %end) #0 {
start:
  %v7 = getelementptr inbounds i64, ptr %args, i64 3
  %v8 = load i64, ptr %v7
  %v20 = getelementptr inbounds i64, ptr %args, i64 2
  %v21 = load ptr, ptr %v20
  %v24 = getelementptr inbounds i64, ptr %args, i64 1
  %v25 = load ptr, ptr %v24
  %v31 = getelementptr inbounds i64, ptr %args, i64 0
  %v32 = load ptr, ptr %v31
  %v1 = sub i64 %end, %begin
  %v2 = add i64 %begin, %v1
  %v5 = icmp slt i64 %begin, %v2
  br i1 %v5, label %b3, label %b4
b3:
  %v6 = phi i64 [ %begin, %start ], [ %v53, %b39 ]
  %v9 = mul i64 %v6, %v8
  %v10 = icmp sgt i64 %v8, 0
  %v11 = select i1 %v10, i64 %v8, i64 0
  %v12 = add i64 0, %v11
  %v13 = and i64 %v11, -8
  %v14 = add i64 0, %v13
  %v17 = icmp slt i64 0, %v14
  br i1 %v17, label %b15, label %b16
b15:
  %v18 = phi i64 [ 0, %b3 ], [ %v34, %b15 ]
  %v19 = add i64 %v9, %v18
  %v22 = getelementptr inbounds float, ptr %v21, i64 %v19
  %v23 = load <8 x float>, ptr %v22, align 4
  %v26 = getelementptr inbounds float, ptr %v25, i64 %v18
  %v27 = load <8 x float>, ptr %v26, align 4
  %v28 = fadd <8 x float> %v23, %v27
  %v29 = fcmp ogt <8 x float> splat (float 0x0000000000000000), %v28
  %v30 = select <8 x i1> %v29, <8 x float> splat (float 0x0000000000000000), <8 x float> %v28
  %v33 = getelementptr inbounds float, ptr %v32, i64 %v19
  store <8 x float> %v30, ptr %v33, align 4
  %v34 = add i64 %v18, 8
  %v35 = icmp slt i64 %v34, %v14
  br i1 %v35, label %b15, label %b16, !llvm.loop !2
b16:
  %v36 = sub i64 %v12, %v14
  %v37 = icmp sgt i64 %v36, 0
  br i1 %v37, label %b38, label %b39
b38:
  %v40 = trunc i64 %v36 to i32
  %v41 = insertelement <8 x i32> poison, i32 %v40, i64 0
  %v42 = shufflevector <8 x i32> %v41, <8 x i32> poison, <8 x i32> zeroinitializer
  %v43 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v42
  %v44 = add i64 %v9, %v14
  %v45 = getelementptr float, ptr %v21, i64 %v44
  %v46 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %v45, i32 4, <8 x i1> %v43, <8 x float> zeroinitializer)
  %v47 = getelementptr float, ptr %v25, i64 %v14
  %v48 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %v47, i32 4, <8 x i1> %v43, <8 x float> zeroinitializer)
  %v49 = fadd <8 x float> %v46, %v48
  %v50 = fcmp ogt <8 x float> splat (float 0x0000000000000000), %v49
  %v51 = select <8 x i1> %v50, <8 x float> splat (float 0x0000000000000000), <8 x float> %v49
  %v52 = getelementptr float, ptr %v32, i64 %v44
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v51, ptr %v52, i32 4, <8 x i1> %v43)
  br label %b39
b39:
  %v53 = add i64 %v6, 1
  %v54 = icmp slt i64 %v53, %v2
  br i1 %v54, label %b3, label %b4, !llvm.loop !3
b4:
  ret void
}
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, i32, <8 x i1>, <8 x float>)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, i32, <8 x i1>)
attributes #0 = { nounwind "no-trapping-math"="true" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
!0 = !{!"llvm.loop.vectorize.enable", i1 false}
!1 = !{!"llvm.loop.unroll.disable"}
!2 = distinct !{!2, !0, !1}
!3 = distinct !{!3, !0, !1}
