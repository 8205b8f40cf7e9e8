define void @contract(ptr noalias %args, i64 %begin, i64 %end) #0 {
start:
  %v7 = getelementptr inbounds i64, ptr %args, i64 3
  %v8 = load i64, ptr %v7
  %v12 = getelementptr inbounds i64, ptr %args, i64 4
  %v13 = load i64, ptr %v12
  %v15 = getelementptr inbounds i64, ptr %args, i64 5
  %v16 = load i64, ptr %v15
  %v28 = getelementptr inbounds i64, ptr %args, i64 6
  %v29 = load i64, ptr %v28
  %v88 = getelementptr inbounds i64, ptr %args, i64 7
  %v89 = load i64, ptr %v88
  %v91 = getelementptr inbounds i64, ptr %args, i64 1
  %v92 = load ptr, ptr %v91
  %v104 = getelementptr inbounds i64, ptr %args, i64 2
  %v105 = load ptr, ptr %v104
  %v122 = getelementptr inbounds i64, ptr %args, i64 0
  %v123 = load ptr, ptr %v122
  %spare = alloca [32 x i8], align 64
  %v1 = sub i64 %end, %begin
  %v2 = add i64 %begin, %v1
  %v5 = icmp slt i64 %begin, %v2
  br i1 %v5, label %b3, label %b4
b3:
  %v6 = phi i64 [ %begin, %start ], [ %v223, %b130 ]
  %v9 = urem i64 %v6, %v8
  %v10 = mul i64 %v9, %v8
  %v11 = udiv i64 %v6, %v8
  %v14 = mul i64 %v11, %v13
  %v17 = mul i64 %v11, %v16
  %v18 = add i64 %v17, %v10
  %v19 = icmp sgt i64 %v8, 0
  %v20 = select i1 %v19, i64 %v8, i64 0
  %v21 = add i64 0, %v20
  %v22 = and i64 %v20, -8
  %v23 = add i64 0, %v22
  %v26 = icmp slt i64 0, %v23
  br i1 %v26, label %b24, label %b25
b24:
  %v27 = phi i64 [ 0, %b3 ], [ %v125, %b34 ]
  %v30 = icmp sgt i64 %v29, 0
  %v31 = select i1 %v30, i64 %v29, i64 0
  %v32 = add i64 0, %v31
  %v35 = icmp slt i64 0, %v32
  br i1 %v35, label %b33, label %b34
b33:
  %v36 = phi i64 [ 0, %b24 ], [ %v118, %b44 ]
  %v37 = phi <8 x float> [ splat (float 0x0000000000000000), %b24 ], [ %v117, %b44 ]
  %v38 = mul i64 %v36, %v16
  %v39 = mul i64 %v36, %v8
  %v40 = icmp sgt i64 %v29, 0
  %v41 = select i1 %v40, i64 %v29, i64 0
  %v42 = add i64 0, %v41
  %v45 = icmp slt i64 0, %v42
  br i1 %v45, label %b43, label %b44
b43:
  %v46 = phi i64 [ 0, %b33 ], [ %v115, %b61 ]
  %v47 = phi <8 x float> [ %v37, %b33 ], [ %v114, %b61 ]
  %v48 = add i64 %v46, %v9
  %v49 = add i64 %v48, -1
  %v50 = icmp sle i64 0, %v49
  %v51 = icmp slt i64 %v49, %v8
  %v52 = and i1 %v50, %v51
  %v53 = mul i64 %v46, %v8
  %v54 = add i64 %v38, %v53
  %v55 = mul i64 %v46, %v29
  %v56 = add i64 %v39, %v55
  %v74 = insertelement <8 x i1> poison, i1 %v52, i64 0
  %v75 = shufflevector <8 x i1> %v74, <8 x i1> poison, <8 x i32> zeroinitializer
  %v57 = icmp sgt i64 %v29, 0
  %v58 = select i1 %v57, i64 %v29, i64 0
  %v59 = add i64 0, %v58
  %v62 = icmp slt i64 0, %v59
  br i1 %v62, label %b60, label %b61
b60:
  %v63 = phi i64 [ 0, %b43 ], [ %v112, %b60 ]
  %v64 = phi <8 x float> [ %v47, %b43 ], [ %v111, %b60 ]
  %v65 = add i64 %v63, %v27
  %v66 = add i64 %v65, -1
  %v67 = sub i64 %v66, 0
  %v68 = call i64 @llvm.smin.i64(i64 %v67, i64 1073741824)
  %v69 = call i64 @llvm.smax.i64(i64 %v68, i64 -1073741824)
  %v70 = trunc i64 %v69 to i32
  %v71 = insertelement <8 x i32> poison, i32 %v70, i64 0
  %v72 = shufflevector <8 x i32> %v71, <8 x i32> poison, <8 x i32> zeroinitializer
  %v73 = icmp sle <8 x i32> <i32 0, i32 -1, i32 -2, i32 -3, i32 -4, i32 -5, i32 -6, i32 -7>, %v72
  %v76 = and <8 x i1> %v75, %v73
  %v77 = sub i64 %v8, %v66
  %v78 = call i64 @llvm.smin.i64(i64 %v77, i64 1073741824)
  %v79 = call i64 @llvm.smax.i64(i64 %v78, i64 -1073741824)
  %v80 = trunc i64 %v79 to i32
  %v81 = insertelement <8 x i32> poison, i32 %v80, i64 0
  %v82 = shufflevector <8 x i32> %v81, <8 x i32> poison, <8 x i32> zeroinitializer
  %v83 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v82
  %v84 = and <8 x i1> %v76, %v83
  %v85 = add i64 %v54, %v63
  %v86 = add i64 %v85, %v10
  %v87 = add i64 %v86, %v27
  %v90 = add i64 %v87, %v89
  %v93 = add i64 %v66, 7
  %v94 = icmp sle i64 0, %v93
  %v95 = and i1 %v52, %v94
  %v96 = icmp slt i64 %v66, %v8
  %v97 = and i1 %v95, %v96
  %v98 = getelementptr float, ptr %v92, i64 %v90
  %v99 = select i1 %v97, ptr %v98, ptr %spare
  %v100 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %v99, i32 4, <8 x i1> %v84, <8 x float> splat (float 0x0000000000000000))
  %v101 = select <8 x i1> %v84, <8 x float> %v100, <8 x float> splat (float 0x0000000000000000)
  %v102 = add i64 %v56, %v63
  %v103 = add i64 %v102, %v14
  %v106 = getelementptr inbounds float, ptr %v105, i64 %v103
  %v107 = load float, ptr %v106
  %v108 = insertelement <8 x float> poison, float %v107, i64 0
  %v109 = shufflevector <8 x float> %v108, <8 x float> poison, <8 x i32> zeroinitializer
  %v110 = fmul <8 x float> %v101, %v109
  %v111 = fadd <8 x float> %v64, %v110
  %v112 = add i64 %v63, 1
  %v113 = icmp slt i64 %v112, %v59
  br i1 %v113, label %b60, label %b61, !llvm.loop !2
b61:
  %v114 = phi <8 x float> [ %v47, %b43 ], [ %v111, %b60 ]
  %v115 = add i64 %v46, 1
  %v116 = icmp slt i64 %v115, %v42
  br i1 %v116, label %b43, label %b44, !llvm.loop !3
b44:
  %v117 = phi <8 x float> [ %v37, %b33 ], [ %v114, %b61 ]
  %v118 = add i64 %v36, 1
  %v119 = icmp slt i64 %v118, %v32
  br i1 %v119, label %b33, label %b34, !llvm.loop !4
b34:
  %v120 = phi <8 x float> [ splat (float 0x0000000000000000), %b24 ], [ %v117, %b44 ]
  %v121 = add i64 %v18, %v27
  %v124 = getelementptr inbounds float, ptr %v123, i64 %v121
  store <8 x float> %v120, ptr %v124, align 4
  %v125 = add i64 %v27, 8
  %v126 = icmp slt i64 %v125, %v23
  br i1 %v126, label %b24, label %b25, !llvm.loop !5
b25:
  %v127 = sub i64 %v21, %v23
  %v128 = icmp sgt i64 %v127, 0
  br i1 %v128, label %b129, label %b130
b129:
  %v131 = trunc i64 %v127 to i32
  %v132 = insertelement <8 x i32> poison, i32 %v131, i64 0
  %v133 = shufflevector <8 x i32> %v132, <8 x i32> poison, <8 x i32> zeroinitializer
  %v134 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v133
  %v135 = icmp sgt i64 %v29, 0
  %v136 = select i1 %v135, i64 %v29, i64 0
  %v137 = add i64 0, %v136
  %v140 = icmp slt i64 0, %v137
  br i1 %v140, label %b138, label %b139
b138:
  %v141 = phi i64 [ 0, %b129 ], [ %v218, %b149 ]
  %v142 = phi <8 x float> [ splat (float 0x0000000000000000), %b129 ], [ %v217, %b149 ]
  %v143 = mul i64 %v141, %v16
  %v144 = mul i64 %v141, %v8
  %v145 = icmp sgt i64 %v29, 0
  %v146 = select i1 %v145, i64 %v29, i64 0
  %v147 = add i64 0, %v146
  %v150 = icmp slt i64 0, %v147
  br i1 %v150, label %b148, label %b149
b148:
  %v151 = phi i64 [ 0, %b138 ], [ %v215, %b166 ]
  %v152 = phi <8 x float> [ %v142, %b138 ], [ %v214, %b166 ]
  %v153 = add i64 %v151, %v9
  %v154 = add i64 %v153, -1
  %v155 = icmp sle i64 0, %v154
  %v156 = icmp slt i64 %v154, %v8
  %v157 = and i1 %v155, %v156
  %v158 = mul i64 %v151, %v8
  %v159 = add i64 %v143, %v158
  %v160 = mul i64 %v151, %v29
  %v161 = add i64 %v144, %v160
  %v179 = insertelement <8 x i1> poison, i1 %v157, i64 0
  %v180 = shufflevector <8 x i1> %v179, <8 x i1> poison, <8 x i32> zeroinitializer
  %v162 = icmp sgt i64 %v29, 0
  %v163 = select i1 %v162, i64 %v29, i64 0
  %v164 = add i64 0, %v163
  %v167 = icmp slt i64 0, %v164
  br i1 %v167, label %b165, label %b166
b165:
  %v168 = phi i64 [ 0, %b148 ], [ %v212, %b165 ]
  %v169 = phi <8 x float> [ %v152, %b148 ], [ %v211, %b165 ]
  %v170 = add i64 %v168, %v23
  %v171 = add i64 %v170, -1
  %v172 = sub i64 %v171, 0
  %v173 = call i64 @llvm.smin.i64(i64 %v172, i64 1073741824)
  %v174 = call i64 @llvm.smax.i64(i64 %v173, i64 -1073741824)
  %v175 = trunc i64 %v174 to i32
  %v176 = insertelement <8 x i32> poison, i32 %v175, i64 0
  %v177 = shufflevector <8 x i32> %v176, <8 x i32> poison, <8 x i32> zeroinitializer
  %v178 = icmp sle <8 x i32> <i32 0, i32 -1, i32 -2, i32 -3, i32 -4, i32 -5, i32 -6, i32 -7>, %v177
  %v181 = and <8 x i1> %v180, %v178
  %v182 = sub i64 %v8, %v171
  %v183 = call i64 @llvm.smin.i64(i64 %v182, i64 1073741824)
  %v184 = call i64 @llvm.smax.i64(i64 %v183, i64 -1073741824)
  %v185 = trunc i64 %v184 to i32
  %v186 = insertelement <8 x i32> poison, i32 %v185, i64 0
  %v187 = shufflevector <8 x i32> %v186, <8 x i32> poison, <8 x i32> zeroinitializer
  %v188 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v187
  %v189 = and <8 x i1> %v181, %v188
  %v190 = add i64 %v159, %v168
  %v191 = add i64 %v190, %v10
  %v192 = add i64 %v191, %v23
  %v193 = add i64 %v192, %v89
  %v194 = add i64 %v171, 7
  %v195 = icmp sle i64 0, %v194
  %v196 = and i1 %v157, %v195
  %v197 = icmp slt i64 %v171, %v8
  %v198 = and i1 %v196, %v197
  %v199 = and <8 x i1> %v189, %v134
  %v200 = getelementptr float, ptr %v92, i64 %v193
  %v201 = select i1 %v198, ptr %v200, ptr %spare
  %v202 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %v201, i32 4, <8 x i1> %v199, <8 x float> splat (float 0x0000000000000000))
  %v203 = select <8 x i1> %v189, <8 x float> %v202, <8 x float> splat (float 0x0000000000000000)
  %v204 = add i64 %v161, %v168
  %v205 = add i64 %v204, %v14
  %v206 = getelementptr inbounds float, ptr %v105, i64 %v205
  %v207 = load float, ptr %v206
  %v208 = insertelement <8 x float> poison, float %v207, i64 0
  %v209 = shufflevector <8 x float> %v208, <8 x float> poison, <8 x i32> zeroinitializer
  %v210 = fmul <8 x float> %v203, %v209
  %v211 = fadd <8 x float> %v169, %v210
  %v212 = add i64 %v168, 1
  %v213 = icmp slt i64 %v212, %v164
  br i1 %v213, label %b165, label %b166, !llvm.loop !6
b166:
  %v214 = phi <8 x float> [ %v152, %b148 ], [ %v211, %b165 ]
  %v215 = add i64 %v151, 1
  %v216 = icmp slt i64 %v215, %v147
  br i1 %v216, label %b148, label %b149, !llvm.loop !7
b149:
  %v217 = phi <8 x float> [ %v142, %b138 ], [ %v214, %b166 ]
  %v218 = add i64 %v141, 1
  %v219 = icmp slt i64 %v218, %v137
  br i1 %v219, label %b138, label %b139, !llvm.loop !8
b139:
  %v220 = phi <8 x float> [ splat (float 0x0000000000000000), %b129 ], [ %v217, %b149 ]
  %v221 = add i64 %v18, %v23
  %v222 = getelementptr float, ptr %v123, i64 %v221
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v220, ptr %v222, i32 4, <8 x i1> %v134)
  br label %b130
b130:
  %v223 = add i64 %v6, 1
  %v224 = icmp slt i64 %v223, %v2
  br i1 %v224, label %b3, label %b4, !llvm.loop !9
b4:
  ret void
}
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
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
!7 = distinct !{!7, !0, !1}
!8 = distinct !{!8, !0, !1}
!9 = distinct !{!9, !0, !1}
