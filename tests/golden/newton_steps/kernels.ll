define void @add(ptr noalias %args, i64 %begin, i64 %end) #0 {
start:
  %v9 = getelementptr inbounds i64, ptr %args, i64 1
  %v10 = load ptr, ptr %v9
  %v14 = getelementptr inbounds i64, ptr %args, i64 0
  %v15 = load ptr, ptr %v14
  %v1 = sub i64 %end, %begin
  %v2 = add i64 %begin, %v1
  %v3 = and i64 %v1, -8
  %v4 = add i64 %begin, %v3
  %v7 = icmp slt i64 %begin, %v4
  br i1 %v7, label %b5, label %b6
b5:
  %v8 = phi i64 [ %begin, %start ], [ %v17, %b5 ]
  %v11 = getelementptr inbounds float, ptr %v10, i64 %v8
  %v12 = load <8 x float>, ptr %v11, align 4
  %v13 = fadd <8 x float> %v12, splat (float 0x3FF0000000000000)
  %v16 = getelementptr inbounds float, ptr %v15, i64 %v8
  store <8 x float> %v13, ptr %v16, align 4
  %v17 = add i64 %v8, 8
  %v18 = icmp slt i64 %v17, %v4
  br i1 %v18, label %b5, label %b6, !llvm.loop !2
b6:
  %v19 = sub i64 %v2, %v4
  %v20 = icmp sgt i64 %v19, 0
  br i1 %v20, label %b21, label %b22
b21:
  %v23 = trunc i64 %v19 to i32
  %v24 = insertelement <8 x i32> poison, i32 %v23, i64 0
  %v25 = shufflevector <8 x i32> %v24, <8 x i32> poison, <8 x i32> zeroinitializer
  %v26 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v25
  %v27 = getelementptr float, ptr %v10, i64 %v4
  %v28 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %v27, i32 4, <8 x i1> %v26, <8 x float> zeroinitializer)
  %v29 = fadd <8 x float> %v28, splat (float 0x3FF0000000000000)
  %v30 = getelementptr float, ptr %v15, i64 %v4
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v29, ptr %v30, i32 4, <8 x i1> %v26)
  br label %b22
b22:
  ret void
}
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, i32, <8 x i1>, <8 x float>)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, i32, <8 x i1>)
attributes #0 = { nounwind "no-trapping-math"="true" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
!0 = !{!"llvm.loop.vectorize.enable", i1 false}
!1 = !{!"llvm.loop.unroll.disable"}
!2 = distinct !{!2, !0, !1}


define void @lt(ptr noalias %args, i64 %begin, i64 %end) #0 {
start:
  %v1 = getelementptr inbounds i64, ptr %args, i64 3
  %v2 = load i64, ptr %v1
  %v13 = getelementptr inbounds i64, ptr %args, i64 1
  %v14 = load ptr, ptr %v13
  %v18 = getelementptr inbounds i64, ptr %args, i64 2
  %v19 = load ptr, ptr %v18
  %v70 = getelementptr inbounds i64, ptr %args, i64 4
  %v71 = load i64, ptr %v70
  %v72 = trunc i64 %v71 to i32
  %v73 = bitcast i32 %v72 to float
  %v75 = getelementptr inbounds i64, ptr %args, i64 0
  %v76 = load ptr, ptr %v75
  %v3 = icmp sgt i64 %v2, 0
  %v4 = select i1 %v3, i64 %v2, i64 0
  %v5 = add i64 0, %v4
  %v6 = and i64 %v4, -8
  %v7 = add i64 0, %v6
  %v10 = icmp slt i64 0, %v7
  br i1 %v10, label %b8, label %b9
b8:
  %v11 = phi i64 [ 0, %start ], [ %v28, %b8 ]
  %v12 = phi <8 x float> [ splat (float 0xFFF0000000000000), %start ], [ %v27, %b8 ]
  %v15 = getelementptr inbounds float, ptr %v14, i64 %v11
  %v16 = load <8 x float>, ptr %v15, align 4
  %v17 = fmul <8 x float> %v16, %v16
  %v20 = getelementptr inbounds float, ptr %v19, i64 %v11
  %v21 = load <8 x float>, ptr %v20, align 4
  %v22 = fsub <8 x float> %v17, %v21
  %v23 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %v22)
  %v24 = fcmp ogt <8 x float> %v12, %v23
  %v25 = select <8 x i1> %v24, <8 x float> %v12, <8 x float> %v23
  %v26 = fcmp uno <8 x float> %v12, zeroinitializer
  %v27 = select <8 x i1> %v26, <8 x float> %v12, <8 x float> %v25
  %v28 = add i64 %v11, 8
  %v29 = icmp slt i64 %v28, %v7
  br i1 %v29, label %b8, label %b9, !llvm.loop !2
b9:
  %v30 = phi <8 x float> [ splat (float 0xFFF0000000000000), %start ], [ %v27, %b8 ]
  %v31 = sub i64 %v5, %v7
  %v32 = icmp sgt i64 %v31, 0
  br i1 %v32, label %b33, label %b34
b33:
  %v35 = trunc i64 %v31 to i32
  %v36 = insertelement <8 x i32> poison, i32 %v35, i64 0
  %v37 = shufflevector <8 x i32> %v36, <8 x i32> poison, <8 x i32> zeroinitializer
  %v38 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v37
  %v39 = getelementptr float, ptr %v14, i64 %v7
  %v40 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %v39, i32 4, <8 x i1> %v38, <8 x float> zeroinitializer)
  %v41 = fmul <8 x float> %v40, %v40
  %v42 = getelementptr float, ptr %v19, i64 %v7
  %v43 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %v42, i32 4, <8 x i1> %v38, <8 x float> zeroinitializer)
  %v44 = fsub <8 x float> %v41, %v43
  %v45 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %v44)
  %v46 = fcmp ogt <8 x float> %v30, %v45
  %v47 = select <8 x i1> %v46, <8 x float> %v30, <8 x float> %v45
  %v48 = fcmp uno <8 x float> %v30, zeroinitializer
  %v49 = select <8 x i1> %v48, <8 x float> %v30, <8 x float> %v47
  %v50 = select <8 x i1> %v38, <8 x float> %v49, <8 x float> %v30
  br label %b34
b34:
  %v51 = phi <8 x float> [ %v30, %b9 ], [ %v50, %b33 ]
  %v52 = shufflevector <8 x float> %v51, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v53 = shufflevector <8 x float> %v51, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v54 = fcmp ogt <4 x float> %v52, %v53
  %v55 = select <4 x i1> %v54, <4 x float> %v52, <4 x float> %v53
  %v56 = fcmp uno <4 x float> %v52, zeroinitializer
  %v57 = select <4 x i1> %v56, <4 x float> %v52, <4 x float> %v55
  %v58 = shufflevector <4 x float> %v57, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v59 = shufflevector <4 x float> %v57, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v60 = fcmp ogt <2 x float> %v58, %v59
  %v61 = select <2 x i1> %v60, <2 x float> %v58, <2 x float> %v59
  %v62 = fcmp uno <2 x float> %v58, zeroinitializer
  %v63 = select <2 x i1> %v62, <2 x float> %v58, <2 x float> %v61
  %v64 = extractelement <2 x float> %v63, i64 0
  %v65 = extractelement <2 x float> %v63, i64 1
  %v66 = fcmp ogt float %v64, %v65
  %v67 = select i1 %v66, float %v64, float %v65
  %v68 = fcmp uno float %v64, zeroinitializer
  %v69 = select i1 %v68, float %v64, float %v67
  %v74 = fcmp olt float %v73, %v69
  %v77 = getelementptr inbounds i8, ptr %v76, i64 0
  %v78 = zext i1 %v74 to i8
  store i8 %v78, ptr %v77
  ret void
}
declare <8 x float> @llvm.fabs.v8f32(<8 x float>)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, i32, <8 x i1>, <8 x float>)
attributes #0 = { nounwind "no-trapping-math"="true" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
!0 = !{!"llvm.loop.vectorize.enable", i1 false}
!1 = !{!"llvm.loop.unroll.disable"}
!2 = distinct !{!2, !0, !1}


define void @mul(ptr noalias %args, i64 %begin, i64 %end) #0 {
start:
  %v9 = getelementptr inbounds i64, ptr %args, i64 1
  %v10 = load ptr, ptr %v9
  %v13 = getelementptr inbounds i64, ptr %args, i64 2
  %v14 = load ptr, ptr %v13
  %v20 = getelementptr inbounds i64, ptr %args, i64 0
  %v21 = load ptr, ptr %v20
  %v1 = sub i64 %end, %begin
  %v2 = add i64 %begin, %v1
  %v3 = and i64 %v1, -8
  %v4 = add i64 %begin, %v3
  %v7 = icmp slt i64 %begin, %v4
  br i1 %v7, label %b5, label %b6
b5:
  %v8 = phi i64 [ %begin, %start ], [ %v23, %b5 ]
  %v11 = getelementptr inbounds float, ptr %v10, i64 %v8
  %v12 = load <8 x float>, ptr %v11, align 4
  %v15 = getelementptr inbounds float, ptr %v14, i64 %v8
  %v16 = load <8 x float>, ptr %v15, align 4
  %v17 = fdiv <8 x float> %v16, %v12
  %v18 = fadd <8 x float> %v12, %v17
  %v19 = fmul <8 x float> %v18, splat (float 0x3FE0000000000000)
  %v22 = getelementptr inbounds float, ptr %v21, i64 %v8
  store <8 x float> %v19, ptr %v22, align 4
  %v23 = add i64 %v8, 8
  %v24 = icmp slt i64 %v23, %v4
  br i1 %v24, label %b5, label %b6, !llvm.loop !2
b6:
  %v25 = sub i64 %v2, %v4
  %v26 = icmp sgt i64 %v25, 0
  br i1 %v26, label %b27, label %b28
b27:
  %v29 = trunc i64 %v25 to i32
  %v30 = insertelement <8 x i32> poison, i32 %v29, i64 0
  %v31 = shufflevector <8 x i32> %v30, <8 x i32> poison, <8 x i32> zeroinitializer
  %v32 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v31
  %v33 = getelementptr float, ptr %v10, i64 %v4
  %v34 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %v33, i32 4, <8 x i1> %v32, <8 x float> zeroinitializer)
  %v35 = getelementptr float, ptr %v14, i64 %v4
  %v36 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %v35, i32 4, <8 x i1> %v32, <8 x float> zeroinitializer)
  %v37 = fdiv <8 x float> %v36, %v34
  %v38 = fadd <8 x float> %v34, %v37
  %v39 = fmul <8 x float> %v38, splat (float 0x3FE0000000000000)
  %v40 = getelementptr float, ptr %v21, i64 %v4
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v39, ptr %v40, i32 4, <8 x i1> %v32)
  br label %b28
b28:
  ret void
}
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, i32, <8 x i1>, <8 x float>)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, i32, <8 x i1>)
attributes #0 = { nounwind "no-trapping-math"="true" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
!0 = !{!"llvm.loop.vectorize.enable", i1 false}
!1 = !{!"llvm.loop.unroll.disable"}
!2 = distinct !{!2, !0, !1}
