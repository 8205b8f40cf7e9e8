define void @relu(ptr noalias %args, i64 %begin, i64 %end) #0 {
start:
  %v1 = alloca [768 x float], align 64
  %v2 = alloca [96 x float], align 64
  %v19 = getelementptr inbounds i64, ptr %args, i64 2
  %v20 = load ptr, ptr %v19
  %v57 = getelementptr inbounds i64, ptr %args, i64 1
  %v58 = load ptr, ptr %v57
  %v128 = getelementptr inbounds i64, ptr %args, i64 3
  %v129 = load ptr, ptr %v128
  %v135 = getelementptr inbounds i64, ptr %args, i64 0
  %v136 = load ptr, ptr %v135
  %v3 = sub i64 %end, %begin
  %v4 = add i64 %begin, %v3
  %v7 = icmp slt i64 %begin, %v4
  br i1 %v7, label %b5, label %b6
b5:
  %v8 = phi i64 [ %begin, %start ], [ %v222, %b149 ]
  %v9 = udiv i64 %v8, 4
  %v10 = mul i64 %v9, 16
  %v11 = add i64 %v10, 0
  br label %b12
b12:
  %v14 = phi i64 [ 0, %b5 ], [ %v24, %b12 ]
  %v15 = mul i64 %v14, 16
  %v16 = add i64 %v15, 0
  %v17 = mul i64 %v14, 80
  %v18 = add i64 %v11, %v17
  %v21 = getelementptr inbounds float, ptr %v20, i64 %v18
  %v22 = load <16 x float>, ptr %v21, align 4
  %v23 = getelementptr inbounds float, ptr %v1, i64 %v16
  store <16 x float> %v22, ptr %v23, align 4
  %v24 = add i64 %v14, 1
  %v25 = icmp slt i64 %v24, 48
  br i1 %v25, label %b12, label %b13, !llvm.loop !2
b13:
  %v26 = urem i64 %v8, 4
  %v27 = mul i64 %v26, -3
  %v28 = add i64 %v27, 10
  %v29 = call i64 @llvm.smin.i64(i64 %v28, i64 3)
  %v30 = mul i64 %v26, 864
  %v31 = mul i64 %v26, -18
  %v32 = mul i64 %v26, 1440
  %v33 = add i64 %v10, %v32
  %v34 = icmp sgt i64 %v29, 0
  %v35 = select i1 %v34, i64 %v29, i64 0
  %v36 = add i64 0, %v35
  %v39 = icmp slt i64 0, %v36
  br i1 %v39, label %b37, label %b38
b37:
  %v40 = phi i64 [ 0, %b13 ], [ %v140, %b117 ]
  %v41 = mul i64 %v40, 288
  %v42 = add i64 %v30, %v41
  br label %b43
b43:
  %v45 = phi i64 [ 0, %b37 ], [ %v94, %b43 ]
  %v46 = phi <16 x float> [ splat (float 0x0000000000000000), %b37 ], [ %v63, %b43 ]
  %v47 = phi <16 x float> [ splat (float 0x0000000000000000), %b37 ], [ %v69, %b43 ]
  %v48 = phi <16 x float> [ splat (float 0x0000000000000000), %b37 ], [ %v75, %b43 ]
  %v49 = phi <16 x float> [ splat (float 0x0000000000000000), %b37 ], [ %v81, %b43 ]
  %v50 = phi <16 x float> [ splat (float 0x0000000000000000), %b37 ], [ %v87, %b43 ]
  %v51 = phi <16 x float> [ splat (float 0x0000000000000000), %b37 ], [ %v93, %b43 ]
  %v52 = mul i64 %v45, 16
  %v53 = add i64 %v52, 0
  %v54 = getelementptr inbounds float, ptr %v1, i64 %v53
  %v55 = load <16 x float>, ptr %v54, align 4
  %v56 = add i64 %v42, %v45
  %v59 = getelementptr inbounds float, ptr %v58, i64 %v56
  %v60 = load float, ptr %v59
  %v61 = insertelement <16 x float> poison, float %v60, i64 0
  %v62 = shufflevector <16 x float> %v61, <16 x float> poison, <16 x i32> zeroinitializer
  %v63 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v62, <16 x float> %v55, <16 x float> %v46)
  %v64 = add i64 %v56, 48
  %v65 = getelementptr inbounds float, ptr %v58, i64 %v64
  %v66 = load float, ptr %v65
  %v67 = insertelement <16 x float> poison, float %v66, i64 0
  %v68 = shufflevector <16 x float> %v67, <16 x float> poison, <16 x i32> zeroinitializer
  %v69 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v68, <16 x float> %v55, <16 x float> %v47)
  %v70 = add i64 %v56, 96
  %v71 = getelementptr inbounds float, ptr %v58, i64 %v70
  %v72 = load float, ptr %v71
  %v73 = insertelement <16 x float> poison, float %v72, i64 0
  %v74 = shufflevector <16 x float> %v73, <16 x float> poison, <16 x i32> zeroinitializer
  %v75 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v74, <16 x float> %v55, <16 x float> %v48)
  %v76 = add i64 %v56, 144
  %v77 = getelementptr inbounds float, ptr %v58, i64 %v76
  %v78 = load float, ptr %v77
  %v79 = insertelement <16 x float> poison, float %v78, i64 0
  %v80 = shufflevector <16 x float> %v79, <16 x float> poison, <16 x i32> zeroinitializer
  %v81 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v80, <16 x float> %v55, <16 x float> %v49)
  %v82 = add i64 %v56, 192
  %v83 = getelementptr inbounds float, ptr %v58, i64 %v82
  %v84 = load float, ptr %v83
  %v85 = insertelement <16 x float> poison, float %v84, i64 0
  %v86 = shufflevector <16 x float> %v85, <16 x float> poison, <16 x i32> zeroinitializer
  %v87 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v86, <16 x float> %v55, <16 x float> %v50)
  %v88 = add i64 %v56, 240
  %v89 = getelementptr inbounds float, ptr %v58, i64 %v88
  %v90 = load float, ptr %v89
  %v91 = insertelement <16 x float> poison, float %v90, i64 0
  %v92 = shufflevector <16 x float> %v91, <16 x float> poison, <16 x i32> zeroinitializer
  %v93 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v92, <16 x float> %v55, <16 x float> %v51)
  %v94 = add i64 %v45, 1
  %v95 = icmp slt i64 %v94, 48
  br i1 %v95, label %b43, label %b44, !llvm.loop !3
b44:
  %v96 = getelementptr inbounds float, ptr %v2, i64 0
  store <16 x float> %v63, ptr %v96, align 4
  %v97 = add i64 16, 0
  %v98 = getelementptr inbounds float, ptr %v2, i64 %v97
  store <16 x float> %v69, ptr %v98, align 4
  %v99 = add i64 32, 0
  %v100 = getelementptr inbounds float, ptr %v2, i64 %v99
  store <16 x float> %v75, ptr %v100, align 4
  %v101 = add i64 48, 0
  %v102 = getelementptr inbounds float, ptr %v2, i64 %v101
  store <16 x float> %v81, ptr %v102, align 4
  %v103 = add i64 64, 0
  %v104 = getelementptr inbounds float, ptr %v2, i64 %v103
  store <16 x float> %v87, ptr %v104, align 4
  %v105 = add i64 80, 0
  %v106 = getelementptr inbounds float, ptr %v2, i64 %v105
  store <16 x float> %v93, ptr %v106, align 4
  %v107 = mul i64 %v40, -6
  %v108 = add i64 %v31, %v107
  %v109 = add i64 %v108, 64
  %v110 = call i64 @llvm.smin.i64(i64 %v109, i64 6)
  %v111 = mul i64 %v40, 480
  %v112 = add i64 %v33, %v111
  %v113 = icmp sgt i64 %v110, 0
  %v114 = select i1 %v113, i64 %v110, i64 0
  %v115 = add i64 0, %v114
  %v118 = icmp slt i64 0, %v115
  br i1 %v118, label %b116, label %b117
b116:
  %v119 = phi i64 [ 0, %b44 ], [ %v138, %b116 ]
  %v120 = mul i64 %v119, 16
  %v121 = mul i64 %v119, 80
  %v122 = add i64 %v112, %v121
  %v123 = add i64 %v120, 0
  %v124 = getelementptr inbounds float, ptr %v2, i64 %v123
  %v125 = load <16 x float>, ptr %v124, align 4
  %v126 = add i64 %v122, 0
  %v127 = add i64 %v10, 0
  %v130 = getelementptr inbounds float, ptr %v129, i64 %v127
  %v131 = load <16 x float>, ptr %v130, align 4
  %v132 = fadd <16 x float> %v125, %v131
  %v133 = fcmp ogt <16 x float> splat (float 0x0000000000000000), %v132
  %v134 = select <16 x i1> %v133, <16 x float> splat (float 0x0000000000000000), <16 x float> %v132
  %v137 = getelementptr inbounds float, ptr %v136, i64 %v126
  store <16 x float> %v134, ptr %v137, align 4
  %v138 = add i64 %v119, 1
  %v139 = icmp slt i64 %v138, %v115
  br i1 %v139, label %b116, label %b117, !llvm.loop !4
b117:
  %v140 = add i64 %v40, 1
  %v141 = icmp slt i64 %v140, %v36
  br i1 %v141, label %b37, label %b38, !llvm.loop !5
b38:
  %v142 = mul i64 %v26, 3
  %v143 = add i64 %v142, -7
  %v144 = call i64 @llvm.smin.i64(i64 %v143, i64 1)
  %v145 = icmp sgt i64 %v144, 0
  %v146 = select i1 %v145, i64 %v144, i64 0
  %v147 = add i64 0, %v146
  %v150 = icmp slt i64 0, %v147
  br i1 %v150, label %b148, label %b149
b148:
  %v151 = phi i64 [ 0, %b38 ], [ %v220, %b200 ]
  br label %b152
b152:
  %v154 = phi i64 [ 0, %b148 ], [ %v187, %b152 ]
  %v155 = phi <16 x float> [ splat (float 0x0000000000000000), %b148 ], [ %v168, %b152 ]
  %v156 = phi <16 x float> [ splat (float 0x0000000000000000), %b148 ], [ %v174, %b152 ]
  %v157 = phi <16 x float> [ splat (float 0x0000000000000000), %b148 ], [ %v180, %b152 ]
  %v158 = phi <16 x float> [ splat (float 0x0000000000000000), %b148 ], [ %v186, %b152 ]
  %v159 = mul i64 %v154, 16
  %v160 = add i64 %v159, 0
  %v161 = getelementptr inbounds float, ptr %v1, i64 %v160
  %v162 = load <16 x float>, ptr %v161, align 4
  %v163 = add i64 %v154, 2880
  %v164 = getelementptr inbounds float, ptr %v58, i64 %v163
  %v165 = load float, ptr %v164
  %v166 = insertelement <16 x float> poison, float %v165, i64 0
  %v167 = shufflevector <16 x float> %v166, <16 x float> poison, <16 x i32> zeroinitializer
  %v168 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v167, <16 x float> %v162, <16 x float> %v155)
  %v169 = add i64 %v154, 2928
  %v170 = getelementptr inbounds float, ptr %v58, i64 %v169
  %v171 = load float, ptr %v170
  %v172 = insertelement <16 x float> poison, float %v171, i64 0
  %v173 = shufflevector <16 x float> %v172, <16 x float> poison, <16 x i32> zeroinitializer
  %v174 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v173, <16 x float> %v162, <16 x float> %v156)
  %v175 = add i64 %v154, 2976
  %v176 = getelementptr inbounds float, ptr %v58, i64 %v175
  %v177 = load float, ptr %v176
  %v178 = insertelement <16 x float> poison, float %v177, i64 0
  %v179 = shufflevector <16 x float> %v178, <16 x float> poison, <16 x i32> zeroinitializer
  %v180 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v179, <16 x float> %v162, <16 x float> %v157)
  %v181 = add i64 %v154, 3024
  %v182 = getelementptr inbounds float, ptr %v58, i64 %v181
  %v183 = load float, ptr %v182
  %v184 = insertelement <16 x float> poison, float %v183, i64 0
  %v185 = shufflevector <16 x float> %v184, <16 x float> poison, <16 x i32> zeroinitializer
  %v186 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v185, <16 x float> %v162, <16 x float> %v158)
  %v187 = add i64 %v154, 1
  %v188 = icmp slt i64 %v187, 48
  br i1 %v188, label %b152, label %b153, !llvm.loop !6
b153:
  %v189 = getelementptr inbounds float, ptr %v2, i64 0
  store <16 x float> %v168, ptr %v189, align 4
  %v190 = add i64 16, 0
  %v191 = getelementptr inbounds float, ptr %v2, i64 %v190
  store <16 x float> %v174, ptr %v191, align 4
  %v192 = add i64 32, 0
  %v193 = getelementptr inbounds float, ptr %v2, i64 %v192
  store <16 x float> %v180, ptr %v193, align 4
  %v194 = add i64 48, 0
  %v195 = getelementptr inbounds float, ptr %v2, i64 %v194
  store <16 x float> %v186, ptr %v195, align 4
  %v196 = icmp sgt i64 4, 0
  %v197 = select i1 %v196, i64 4, i64 0
  %v198 = add i64 0, %v197
  %v201 = icmp slt i64 0, %v198
  br i1 %v201, label %b199, label %b200
b199:
  %v202 = phi i64 [ 0, %b153 ], [ %v218, %b199 ]
  %v203 = mul i64 %v202, 16
  %v204 = mul i64 %v202, 80
  %v205 = add i64 %v10, %v204
  %v206 = add i64 %v203, 0
  %v207 = getelementptr inbounds float, ptr %v2, i64 %v206
  %v208 = load <16 x float>, ptr %v207, align 4
  %v209 = add i64 %v205, 0
  %v210 = add i64 %v209, 4800
  %v211 = add i64 %v10, 0
  %v212 = getelementptr inbounds float, ptr %v129, i64 %v211
  %v213 = load <16 x float>, ptr %v212, align 4
  %v214 = fadd <16 x float> %v208, %v213
  %v215 = fcmp ogt <16 x float> splat (float 0x0000000000000000), %v214
  %v216 = select <16 x i1> %v215, <16 x float> splat (float 0x0000000000000000), <16 x float> %v214
  %v217 = getelementptr inbounds float, ptr %v136, i64 %v210
  store <16 x float> %v216, ptr %v217, align 4
  %v218 = add i64 %v202, 1
  %v219 = icmp slt i64 %v218, %v198
  br i1 %v219, label %b199, label %b200, !llvm.loop !7
b200:
  %v220 = add i64 %v151, 1
  %v221 = icmp slt i64 %v220, %v147
  br i1 %v221, label %b148, label %b149, !llvm.loop !8
b149:
  %v222 = add i64 %v8, 1
  %v223 = icmp slt i64 %v222, %v4
  br i1 %v223, label %b5, label %b6, !llvm.loop !9
b6:
  ret void
}
declare i64 @llvm.smin.i64(i64, i64)
declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
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
