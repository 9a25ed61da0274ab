//! Qwen2 and Qwen2.5: bias on queries, keys and values and nowhere else, whatever the file says.

use crate::wiring::Wiring;

pub(crate) fn wiring() -> Wiring {
    Wiring { qkv_bias: true, output_bias: false, qk_norm: false }
}
