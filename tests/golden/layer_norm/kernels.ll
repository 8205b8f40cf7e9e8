define void @add(ptr noalias %args, i64 %begin, i64 %end) #0 {
start:
  %v7 = getelementptr inbounds i64, ptr %args, i64 4
  %v8 = load i64, ptr %v7
  %v11 = getelementptr inbounds i64, ptr %args, i64 5
  %v12 = load i64, ptr %v11
  %v22 = getelementptr inbounds i64, ptr %args, i64 1
  %v23 = load ptr, ptr %v22
  %v35 = getelementptr inbounds i64, ptr %args, i64 6
  %v36 = load i64, ptr %v35
  %v38 = getelementptr inbounds i64, ptr %args, i64 7
  %v39 = load i64, ptr %v38
  %v88 = getelementptr inbounds i64, ptr %args, i64 8
  %v89 = load i64, ptr %v88
  %v90 = trunc i64 %v89 to i32
  %v91 = bitcast i32 %v90 to float
  %v170 = getelementptr inbounds i64, ptr %args, i64 9
  %v171 = load i64, ptr %v170
  %v172 = trunc i64 %v171 to i32
  %v173 = bitcast i32 %v172 to float
  %v195 = getelementptr inbounds i64, ptr %args, i64 2
  %v196 = load ptr, ptr %v195
  %v200 = getelementptr inbounds i64, ptr %args, i64 3
  %v201 = load ptr, ptr %v200
  %v205 = getelementptr inbounds i64, ptr %args, i64 0
  %v206 = load ptr, ptr %v205
  %spare = alloca [64 x i8], align 64
  %v1 = sub i64 %end, %begin
  %v2 = add i64 %begin, %v1
  %v5 = icmp slt i64 %begin, %v2
  br i1 %v5, label %b3, label %b4
b3:
  %v6 = phi i64 [ %begin, %start ], [ %v230, %b213 ]
  %v9 = mul i64 %v6, %v8
  %v10 = add i64 %v9, 0
  %v13 = add i64 0, %v12
  %v14 = sub i64 %v8, %v13
  %v15 = call i64 @llvm.smin.i64(i64 %v14, i64 1073741824)
  %v16 = call i64 @llvm.smax.i64(i64 %v15, i64 -1073741824)
  %v17 = trunc i64 %v16 to i32
  %v18 = insertelement <16 x i32> poison, i32 %v17, i64 0
  %v19 = shufflevector <16 x i32> %v18, <16 x i32> poison, <16 x i32> zeroinitializer
  %v20 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v19
  %v21 = add i64 %v10, %v12
  %v24 = icmp slt i64 %v13, %v8
  %v25 = getelementptr float, ptr %v23, i64 %v21
  %v26 = select i1 %v24, ptr %v25, ptr %spare
  %v27 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr %v26, i32 4, <16 x i1> %v20, <16 x float> splat (float 0x0000000000000000))
  %v28 = select <16 x i1> %v20, <16 x float> %v27, <16 x float> splat (float 0x0000000000000000)
  br label %b29
b29:
  %v31 = phi i64 [ 0, %b3 ], [ %v73, %b64 ]
  %v32 = phi <16 x float> [ splat (float 0x0000000000000000), %b3 ], [ %v72, %b64 ]
  %v33 = mul i64 %v31, 256
  %v34 = add i64 %v10, %v33
  %v37 = mul i64 %v31, %v36
  %v40 = add i64 %v37, %v39
  %v41 = call i64 @llvm.smin.i64(i64 %v40, i64 16)
  %v42 = sub i64 16, %v40
  %v43 = call i64 @llvm.smin.i64(i64 %v42, i64 1)
  %v44 = icmp sgt i64 %v41, 0
  %v45 = select i1 %v44, i64 %v41, i64 0
  %v46 = add i64 0, %v45
  %v49 = icmp slt i64 0, %v46
  br i1 %v49, label %b47, label %b48
b47:
  %v50 = phi i64 [ 0, %b29 ], [ %v57, %b47 ]
  %v51 = phi <16 x float> [ splat (float 0x0000000000000000), %b29 ], [ %v56, %b47 ]
  %v52 = mul i64 %v50, 16
  %v53 = add i64 %v34, %v52
  %v54 = getelementptr inbounds float, ptr %v23, i64 %v53
  %v55 = load <16 x float>, ptr %v54, align 4
  %v56 = fadd <16 x float> %v51, %v55
  %v57 = add i64 %v50, 1
  %v58 = icmp slt i64 %v57, %v46
  br i1 %v58, label %b47, label %b48, !llvm.loop !2
b48:
  %v59 = phi <16 x float> [ splat (float 0x0000000000000000), %b29 ], [ %v56, %b47 ]
  %v60 = icmp sgt i64 %v43, 0
  %v61 = select i1 %v60, i64 %v43, i64 0
  %v62 = add i64 0, %v61
  %v65 = icmp slt i64 0, %v62
  br i1 %v65, label %b63, label %b64
b63:
  %v66 = phi i64 [ 0, %b48 ], [ %v69, %b63 ]
  %v67 = phi <16 x float> [ %v59, %b48 ], [ %v68, %b63 ]
  %v68 = fadd <16 x float> %v67, %v28
  %v69 = add i64 %v66, 1
  %v70 = icmp slt i64 %v69, %v62
  br i1 %v70, label %b63, label %b64, !llvm.loop !3
b64:
  %v71 = phi <16 x float> [ %v59, %b48 ], [ %v68, %b63 ]
  %v72 = fadd <16 x float> %v32, %v71
  %v73 = add i64 %v31, 1
  %v74 = icmp slt i64 %v73, 2
  br i1 %v74, label %b29, label %b30, !llvm.loop !4
b30:
  %v75 = fadd <16 x float> splat (float 0x0000000000000000), %v72
  %v76 = shufflevector <16 x float> %v75, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v77 = shufflevector <16 x float> %v75, <16 x float> poison, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v78 = fadd <8 x float> %v76, %v77
  %v79 = shufflevector <8 x float> %v78, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v80 = shufflevector <8 x float> %v78, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v81 = fadd <4 x float> %v79, %v80
  %v82 = shufflevector <4 x float> %v81, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v83 = shufflevector <4 x float> %v81, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v84 = fadd <2 x float> %v82, %v83
  %v85 = extractelement <2 x float> %v84, i64 0
  %v86 = extractelement <2 x float> %v84, i64 1
  %v87 = fadd float %v85, %v86
  %v92 = fdiv float %v87, %v91
  %v107 = insertelement <16 x float> poison, float %v92, i64 0
  %v108 = shufflevector <16 x float> %v107, <16 x float> poison, <16 x i32> zeroinitializer
  %v93 = add i64 %v9, 0
  %v94 = add i64 0, %v12
  %v95 = sub i64 %v8, %v94
  %v96 = call i64 @llvm.smin.i64(i64 %v95, i64 1073741824)
  %v97 = call i64 @llvm.smax.i64(i64 %v96, i64 -1073741824)
  %v98 = trunc i64 %v97 to i32
  %v99 = insertelement <16 x i32> poison, i32 %v98, i64 0
  %v100 = shufflevector <16 x i32> %v99, <16 x i32> poison, <16 x i32> zeroinitializer
  %v101 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v100
  %v102 = add i64 %v93, %v12
  %v103 = icmp slt i64 %v94, %v8
  %v104 = getelementptr float, ptr %v23, i64 %v102
  %v105 = select i1 %v103, ptr %v104, ptr %spare
  %v106 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr %v105, i32 4, <16 x i1> %v101, <16 x float> splat (float 0x0000000000000000))
  %v109 = fsub <16 x float> %v106, %v108
  %v110 = fmul <16 x float> %v109, %v109
  %v111 = select <16 x i1> %v101, <16 x float> %v110, <16 x float> splat (float 0x0000000000000000)
  br label %b112
b112:
  %v114 = phi i64 [ 0, %b30 ], [ %v154, %b145 ]
  %v115 = phi <16 x float> [ splat (float 0x0000000000000000), %b30 ], [ %v153, %b145 ]
  %v116 = mul i64 %v114, 256
  %v117 = add i64 %v93, %v116
  %v118 = mul i64 %v114, %v36
  %v119 = add i64 %v118, %v39
  %v120 = call i64 @llvm.smin.i64(i64 %v119, i64 16)
  %v121 = sub i64 16, %v119
  %v122 = call i64 @llvm.smin.i64(i64 %v121, i64 1)
  %v123 = icmp sgt i64 %v120, 0
  %v124 = select i1 %v123, i64 %v120, i64 0
  %v125 = add i64 0, %v124
  %v128 = icmp slt i64 0, %v125
  br i1 %v128, label %b126, label %b127
b126:
  %v129 = phi i64 [ 0, %b112 ], [ %v138, %b126 ]
  %v130 = phi <16 x float> [ splat (float 0x0000000000000000), %b112 ], [ %v137, %b126 ]
  %v131 = mul i64 %v129, 16
  %v132 = add i64 %v117, %v131
  %v133 = getelementptr inbounds float, ptr %v23, i64 %v132
  %v134 = load <16 x float>, ptr %v133, align 4
  %v135 = fsub <16 x float> %v134, %v108
  %v136 = fmul <16 x float> %v135, %v135
  %v137 = fadd <16 x float> %v130, %v136
  %v138 = add i64 %v129, 1
  %v139 = icmp slt i64 %v138, %v125
  br i1 %v139, label %b126, label %b127, !llvm.loop !5
b127:
  %v140 = phi <16 x float> [ splat (float 0x0000000000000000), %b112 ], [ %v137, %b126 ]
  %v141 = icmp sgt i64 %v122, 0
  %v142 = select i1 %v141, i64 %v122, i64 0
  %v143 = add i64 0, %v142
  %v146 = icmp slt i64 0, %v143
  br i1 %v146, label %b144, label %b145
b144:
  %v147 = phi i64 [ 0, %b127 ], [ %v150, %b144 ]
  %v148 = phi <16 x float> [ %v140, %b127 ], [ %v149, %b144 ]
  %v149 = fadd <16 x float> %v148, %v111
  %v150 = add i64 %v147, 1
  %v151 = icmp slt i64 %v150, %v143
  br i1 %v151, label %b144, label %b145, !llvm.loop !6
b145:
  %v152 = phi <16 x float> [ %v140, %b127 ], [ %v149, %b144 ]
  %v153 = fadd <16 x float> %v115, %v152
  %v154 = add i64 %v114, 1
  %v155 = icmp slt i64 %v154, 2
  br i1 %v155, label %b112, label %b113, !llvm.loop !7
b113:
  %v156 = fadd <16 x float> splat (float 0x0000000000000000), %v153
  %v157 = shufflevector <16 x float> %v156, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v158 = shufflevector <16 x float> %v156, <16 x float> poison, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v159 = fadd <8 x float> %v157, %v158
  %v160 = shufflevector <8 x float> %v159, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v161 = shufflevector <8 x float> %v159, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v162 = fadd <4 x float> %v160, %v161
  %v163 = shufflevector <4 x float> %v162, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v164 = shufflevector <4 x float> %v162, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v165 = fadd <2 x float> %v163, %v164
  %v166 = extractelement <2 x float> %v165, i64 0
  %v167 = extractelement <2 x float> %v165, i64 1
  %v168 = fadd float %v166, %v167
  %v169 = fdiv float %v168, %v91
  %v174 = fadd float %v169, %v173
  %v175 = call float @llvm.sqrt.f32(float %v174)
  %v176 = fdiv float 0x3FF0000000000000, %v175
  %v189 = insertelement <8 x float> poison, float %v92, i64 0
  %v190 = shufflevector <8 x float> %v189, <8 x float> poison, <8 x i32> zeroinitializer
  %v192 = insertelement <8 x float> poison, float %v176, i64 0
  %v193 = shufflevector <8 x float> %v192, <8 x float> poison, <8 x i32> zeroinitializer
  %v177 = icmp sgt i64 %v8, 0
  %v178 = select i1 %v177, i64 %v8, i64 0
  %v179 = add i64 0, %v178
  %v180 = and i64 %v178, -8
  %v181 = add i64 0, %v180
  %v184 = icmp slt i64 0, %v181
  br i1 %v184, label %b182, label %b183
b182:
  %v185 = phi i64 [ 0, %b113 ], [ %v208, %b182 ]
  %v186 = add i64 %v185, %v9
  %v187 = getelementptr inbounds float, ptr %v23, i64 %v186
  %v188 = load <8 x float>, ptr %v187, align 4
  %v191 = fsub <8 x float> %v188, %v190
  %v194 = fmul <8 x float> %v191, %v193
  %v197 = getelementptr inbounds float, ptr %v196, i64 %v185
  %v198 = load <8 x float>, ptr %v197, align 4
  %v199 = fmul <8 x float> %v194, %v198
  %v202 = getelementptr inbounds float, ptr %v201, i64 %v185
  %v203 = load <8 x float>, ptr %v202, align 4
  %v204 = fadd <8 x float> %v199, %v203
  %v207 = getelementptr inbounds float, ptr %v206, i64 %v186
  store <8 x float> %v204, ptr %v207, align 4
  %v208 = add i64 %v185, 8
  %v209 = icmp slt i64 %v208, %v181
  br i1 %v209, label %b182, label %b183, !llvm.loop !8
b183:
  %v210 = sub i64 %v179, %v181
  %v211 = icmp sgt i64 %v210, 0
  br i1 %v211, label %b212, label %b213
b212:
  %v214 = trunc i64 %v210 to i32
  %v215 = insertelement <8 x i32> poison, i32 %v214, i64 0
  %v216 = shufflevector <8 x i32> %v215, <8 x i32> poison, <8 x i32> zeroinitializer
  %v217 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v216
  %v218 = add i64 %v181, %v9
  %v219 = getelementptr float, ptr %v23, i64 %v218
  %v220 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %v219, i32 4, <8 x i1> %v217, <8 x float> zeroinitializer)
  %v221 = fsub <8 x float> %v220, %v190
  %v222 = fmul <8 x float> %v221, %v193
  %v223 = getelementptr float, ptr %v196, i64 %v181
  %v224 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %v223, i32 4, <8 x i1> %v217, <8 x float> zeroinitializer)
  %v225 = fmul <8 x float> %v222, %v224
  %v226 = getelementptr float, ptr %v201, i64 %v181
  %v227 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %v226, i32 4, <8 x i1> %v217, <8 x float> zeroinitializer)
  %v228 = fadd <8 x float> %v225, %v227
  %v229 = getelementptr float, ptr %v206, i64 %v218
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v228, ptr %v229, i32 4, <8 x i1> %v217)
  br label %b213
b213:
  %v230 = add i64 %v6, 1
  %v231 = icmp slt i64 %v230, %v2
  br i1 %v231, label %b3, label %b4, !llvm.loop !9
b4:
  ret void
}
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, i32, <16 x i1>, <16 x float>)
declare float @llvm.sqrt.f32(float)
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
