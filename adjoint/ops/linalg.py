"""Linear algebra as opaque host ops: factorisations, solves, determinants, with their derivatives."""
