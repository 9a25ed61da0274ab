use crate::lanes::{exp, max, vectorized};

/// Turns logits on the host into the softmax's numerators, `exp(scale (x - highest))`, and returns the
/// highest of them. An infinitely low one becomes 0; a NaN stays one, and is never the highest.
pub fn softmax_numerators(logits: &mut [f32], scale: f32) -> f32 {
    vectorized(|| {
        let highest = max(logits);
        for logit in logits.iter_mut() {
            *logit = exp((*logit - highest) * scale);
        }
        highest
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numerators_are_relative_to_the_highest() {
        let mut logits = [1.0, 3.0, f32::NEG_INFINITY, f32::NAN];
        assert_eq!(softmax_numerators(&mut logits, 0.5), 3.0);
        // e^-1 = 0.367879.
        assert!((logits[0] - 0.367_879_44).abs() < 1e-7);
        assert_eq!(logits[1..3], [1.0, 0.0]);
        assert!(logits[3].is_nan());
    }
}
