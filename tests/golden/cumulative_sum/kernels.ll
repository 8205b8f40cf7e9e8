define void @scan_sum_100_5(ptr noalias %args, i64 %begin, i64 %end) #0 {
start:
  %v32 = getelementptr inbounds i64, ptr %args, i64 1
  %v33 = load ptr, ptr %v32
  %v41 = getelementptr inbounds i64, ptr %args, i64 0
  %v42 = load ptr, ptr %v41
  %v1 = icmp sgt i64 5, 0
  %v2 = select i1 %v1, i64 5, i64 0
  %v3 = add i64 0, %v2
  %v4 = and i64 %v2, -8
  %v5 = add i64 0, %v4
  %v8 = icmp slt i64 0, %v5
  br i1 %v8, label %b6, label %b7
b6:
  %v9 = phi i64 [ 0, %start ], [ %v51, %b14 ]
  %v10 = icmp sgt i64 7, 0
  %v11 = select i1 %v10, i64 7, i64 0
  %v12 = add i64 0, %v11
  %v15 = icmp slt i64 0, %v12
  br i1 %v15, label %b13, label %b14
b13:
  %v16 = phi i64 [ 0, %b6 ], [ %v48, %b25 ]
  %v17 = phi <8 x double> [ splat (double 0x8000000000000000), %b6 ], [ %v47, %b25 ]
  %v18 = mul i64 %v16, 16
  %v19 = sub i64 100, %v18
  %v20 = call i64 @llvm.smin.i64(i64 %v19, i64 16)
  %v21 = icmp sgt i64 %v20, 0
  %v22 = select i1 %v21, i64 %v20, i64 0
  %v23 = add i64 0, %v22
  %v26 = icmp slt i64 0, %v23
  br i1 %v26, label %b24, label %b25
b24:
  %v27 = phi i64 [ 0, %b13 ], [ %v44, %b24 ]
  %v28 = phi <8 x double> [ splat (double 0x8000000000000000), %b13 ], [ %v37, %b24 ]
  %v29 = add i64 %v18, %v27
  %v30 = mul i64 %v29, 5
  %v31 = add i64 %v30, %v9
  %v34 = getelementptr inbounds float, ptr %v33, i64 %v31
  %v35 = load <8 x float>, ptr %v34, align 4
  %v36 = fpext <8 x float> %v35 to <8 x double>
  %v37 = fadd <8 x double> %v28, %v36
  %v38 = fadd <8 x double> splat (double 0x8000000000000000), %v17
  %v39 = fadd <8 x double> %v38, %v37
  %v40 = fptrunc <8 x double> %v39 to <8 x float>
  %v43 = getelementptr inbounds float, ptr %v42, i64 %v31
  store <8 x float> %v40, ptr %v43, align 4
  %v44 = add i64 %v27, 1
  %v45 = icmp slt i64 %v44, %v23
  br i1 %v45, label %b24, label %b25, !llvm.loop !2
b25:
  %v46 = phi <8 x double> [ splat (double 0x8000000000000000), %b13 ], [ %v37, %b24 ]
  %v47 = fadd <8 x double> %v17, %v46
  %v48 = add i64 %v16, 1
  %v49 = icmp slt i64 %v48, %v12
  br i1 %v49, label %b13, label %b14, !llvm.loop !3
b14:
  %v50 = phi <8 x double> [ splat (double 0x8000000000000000), %b6 ], [ %v47, %b25 ]
  %v51 = add i64 %v9, 8
  %v52 = icmp slt i64 %v51, %v5
  br i1 %v52, label %b6, label %b7, !llvm.loop !4
b7:
  %v53 = sub i64 %v3, %v5
  %v54 = icmp sgt i64 %v53, 0
  br i1 %v54, label %b55, label %b56
b55:
  %v57 = trunc i64 %v53 to i32
  %v58 = insertelement <8 x i32> poison, i32 %v57, i64 0
  %v59 = shufflevector <8 x i32> %v58, <8 x i32> poison, <8 x i32> zeroinitializer
  %v60 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v59
  %v61 = icmp sgt i64 7, 0
  %v62 = select i1 %v61, i64 7, i64 0
  %v63 = add i64 0, %v62
  %v66 = icmp slt i64 0, %v63
  br i1 %v66, label %b64, label %b65
b64:
  %v67 = phi i64 [ 0, %b55 ], [ %v95, %b76 ]
  %v68 = phi <8 x double> [ splat (double 0x8000000000000000), %b55 ], [ %v94, %b76 ]
  %v69 = mul i64 %v67, 16
  %v70 = sub i64 100, %v69
  %v71 = call i64 @llvm.smin.i64(i64 %v70, i64 16)
  %v72 = icmp sgt i64 %v71, 0
  %v73 = select i1 %v72, i64 %v71, i64 0
  %v74 = add i64 0, %v73
  %v77 = icmp slt i64 0, %v74
  br i1 %v77, label %b75, label %b76
b75:
  %v78 = phi i64 [ 0, %b64 ], [ %v91, %b75 ]
  %v79 = phi <8 x double> [ splat (double 0x8000000000000000), %b64 ], [ %v86, %b75 ]
  %v80 = add i64 %v69, %v78
  %v81 = mul i64 %v80, 5
  %v82 = add i64 %v81, %v5
  %v83 = getelementptr float, ptr %v33, i64 %v82
  %v84 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %v83, i32 4, <8 x i1> %v60, <8 x float> zeroinitializer)
  %v85 = fpext <8 x float> %v84 to <8 x double>
  %v86 = fadd <8 x double> %v79, %v85
  %v87 = fadd <8 x double> splat (double 0x8000000000000000), %v68
  %v88 = fadd <8 x double> %v87, %v86
  %v89 = fptrunc <8 x double> %v88 to <8 x float>
  %v90 = getelementptr float, ptr %v42, i64 %v82
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v89, ptr %v90, i32 4, <8 x i1> %v60)
  %v91 = add i64 %v78, 1
  %v92 = icmp slt i64 %v91, %v74
  br i1 %v92, label %b75, label %b76, !llvm.loop !5
b76:
  %v93 = phi <8 x double> [ splat (double 0x8000000000000000), %b64 ], [ %v86, %b75 ]
  %v94 = fadd <8 x double> %v68, %v93
  %v95 = add i64 %v67, 1
  %v96 = icmp slt i64 %v95, %v63
  br i1 %v96, label %b64, label %b65, !llvm.loop !6
b65:
  %v97 = phi <8 x double> [ splat (double 0x8000000000000000), %b55 ], [ %v94, %b76 ]
  br label %b56
b56:
  ret void
}
declare i64 @llvm.smin.i64(i64, i64)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, i32, <8 x i1>, <8 x float>)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, i32, <8 x i1>)
attributes #0 = { nounwind "no-trapping-math"="true" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
!0 = !{!"llvm.loop.vectorize.enable", i1 false}
!1 = !{!"llvm.loop.unroll.disable"}
!2 = distinct !{!2, !0, !1}
!3 = distinct !{!3, !0, !1}
!4 = distinct !{!4, !0, !1}
!5 = distinct !{!5, !0, !1}
!6 = distinct !{!6, !0, !1}
