//! The stack that all families share, as a [`CausalLm`].

use burn::module::Param;
use burn::prelude::*;
use burn::tensor::DType;
use burn::tensor::module::embedding;
use sapo_core::model::{CausalLm, Placement};
use sapo_core::value::{ActionSoftmax, LogitScores};
use sapo_kernels::{HeadReads, HeadScores, PackedMatrix, head_scores};

use crate::attention::{Attention, Block};
use crate::cache::{KvCache, LayerCache};
use crate::config::ModelConfig;
use crate::error::ModelError;
use crate::mlp::Mlp;
use crate::norm::RmsNorm;
use crate::projection::{Projection, multiply};
use crate::rope::Rope;
use crate::source::{WeightSource, matrix};

/// A table of vectors, one for each token.
#[derive(Module, Debug)]
pub struct Embedding {
    /// `[vocabulary, hidden]`
    pub weight: Param<Tensor<2>>,
}

/// One layer: attention and feed-forward block, each behind a norm and added to the stream.
#[derive(Module, Debug)]
pub struct Layer {
    /// The norm before attention.
    pub input_layernorm: RmsNorm,
    /// Attention.
    pub self_attn: Attention,
    /// The norm before the feed-forward block.
    pub post_attention_layernorm: RmsNorm,
    /// The feed-forward block.
    pub mlp: Mlp,
}

impl Layer {
    fn build(
        source: &mut dyn WeightSource,
        name: &str,
        config: &ModelConfig,
        device: &Device,
    ) -> Result<Self, ModelError> {
        let (width, epsilon) = (config.hidden_size, config.rms_norm_eps);
        let part = |part: &str| format!("{name}.{part}");
        let before = part("input_layernorm");
        let after = part("post_attention_layernorm");
        Ok(Layer {
            input_layernorm: RmsNorm::build(source, &before, width, epsilon, device)?,
            self_attn: Attention::build(source, &part("self_attn"), config, device)?,
            post_attention_layernorm: RmsNorm::build(source, &after, width, epsilon, device)?,
            mlp: Mlp::build(source, &part("mlp"), config, device)?,
        })
    }

    fn packed(self) -> Self {
        Layer { self_attn: self.self_attn.packed(), mlp: self.mlp.packed(), ..self }
    }

    fn forward(
        &self,
        stream: Tensor<2>,
        block: &Block,
        cache: Option<&mut LayerCache>,
    ) -> Tensor<2> {
        let normed = self.input_layernorm.forward(stream.clone());
        let stream = self.self_attn.forward(normed, block, cache) + stream;
        let normed = self.post_attention_layernorm.forward(stream.clone());
        self.mlp.forward(normed) + stream
    }
}

/// Everything below the head.
#[derive(Module, Debug)]
pub struct Stack {
    /// The embedding; with a tied head, the head too.
    pub embed_tokens: Embedding,
    /// The layers, from the bottom up.
    pub layers: Vec<Layer>,
    /// The norm after the last layer.
    pub norm: RmsNorm,
    rope: Rope,
}

/// A decoder of any known family.
///
/// Its fields are named as Hugging Face names its weights, so that a parameter's path in the module,
/// joined by dots, is its name in a checkpoint.
#[derive(Module, Debug)]
pub struct Decoder {
    /// Embedding, layers and last norm.
    pub model: Stack,
    /// The head, `[hidden, vocabulary]`; `None` where it is the embedding's own matrix.
    pub lm_head: Option<Projection>,
    /// The head as decoding wants it.
    #[module(skip)]
    packed_head: Option<PackedMatrix>,
}

impl Decoder {
    pub(crate) fn build(
        source: &mut dyn WeightSource,
        config: &ModelConfig,
        device: &Device,
    ) -> Result<Self, ModelError> {
        config.check()?;
        let (vocabulary, hidden) = (config.vocab_size, config.hidden_size);
        let weight = matrix(source, "model.embed_tokens.weight", [vocabulary, hidden], device)?;
        let layer = |i| Layer::build(source, &format!("model.layers.{i}"), config, device);
        let layers = (0..config.num_hidden_layers).map(layer).collect::<Result<_, _>>()?;
        let norm = RmsNorm::build(source, "model.norm", hidden, config.rms_norm_eps, device)?;
        let lm_head = match config.tie_word_embeddings {
            true => None,
            false => {
                let shape = [hidden, vocabulary];
                Some(Projection::build(source, "lm_head", shape, false, device)?)
            }
        };
        let rope = Rope::new(config.head_dim, config.rope_theta);
        let embed_tokens = Embedding { weight };
        let model = Stack { embed_tokens, layers, norm, rope };
        Ok(Decoder { model, lm_head, packed_head: None })
    }

    /// The same for decoding: outside of autodiff, and where that is faster with a second copy of all
    /// weights, which does not follow their changes.
    pub(crate) fn packed(&self) -> Self {
        let mut plain = self.valid();
        plain.packed_head = PackedMatrix::new(&plain.head().transpose());
        let layers = plain.model.layers.into_iter().map(Layer::packed).collect();
        Decoder { model: Stack { layers, ..plain.model }, ..plain }
    }

    /// The hidden states before the first layer and after each one; the last after the last norm.
    ///
    /// # Shapes
    /// - tokens: `[rows, time]`
    /// - each output: `[rows, time, hidden]`
    pub fn hidden_states(&self, tokens: Tensor<2, Int>, placement: &Placement) -> Vec<Tensor<3>> {
        let [rows, time] = tokens.dims();
        let mut states = Vec::with_capacity(self.model.layers.len() + 1);
        let last = self.run(tokens, placement, None, |stream| {
            let [_, hidden] = stream.dims();
            states.push(stream.clone().reshape([rows, time, hidden]));
        });
        // The last layer's state is given after the norm.
        states.pop();
        states.push(last);
        states
    }

    /// The matrix that turns hidden states into logits. `[vocabulary, hidden]`
    fn head(&self) -> Tensor<2> {
        match &self.lm_head {
            Some(head) => head.weight.val().transpose(),
            None => self.model.embed_tokens.weight.val(),
        }
    }

    /// Rows of the embedding.
    pub(crate) fn rows(&self) -> usize {
        self.model.embed_tokens.weight.dims()[0]
    }

    /// Where the weights lie.
    pub fn device(&self) -> Device {
        self.model.embed_tokens.weight.val().device()
    }

    /// Key and value heads of a layer.
    pub(crate) fn groups(&self) -> usize {
        self.model.layers.first().map_or(0, |layer| layer.self_attn.groups())
    }

    fn run(
        &self,
        tokens: Tensor<2, Int>,
        placement: &Placement,
        mut cache: Option<&mut KvCache>,
        mut watch: impl FnMut(&Tensor<2>),
    ) -> Tensor<3> {
        let [rows, time] = tokens.dims();
        let mut stream = self.embed(tokens);
        let block = self.block(placement, stream.dtype());
        if let Some(cache) = cache.as_deref_mut() {
            cache.expect_block(time, self.model.layers.len());
        }
        watch(&stream);
        for (index, layer) in self.model.layers.iter().enumerate() {
            let cache = cache.as_deref_mut().map(|cache| cache.layer(index));
            stream = layer.forward(stream, &block, cache);
            watch(&stream);
        }
        if let Some(cache) = cache {
            cache.finish_block(time);
        }
        self.model.norm.forward(stream).reshape([rows as i32, time as i32, -1])
    }

    /// `[rows, time]` to `[rows * time, hidden]`.
    fn embed(&self, tokens: Tensor<2, Int>) -> Tensor<2> {
        embedding(self.model.embed_tokens.weight.val(), tokens).flatten(0, 1)
    }

    fn block(&self, placement: &Placement, dtype: DType) -> Block {
        let [rows, time, keys] = placement.hidden.dims();
        let seen = Tensor::<3>::zeros([rows, time, keys], (&placement.hidden.device(), dtype));
        // Infinite rather than large: an exponential that underflows is slow to compute.
        let bias = seen.mask_fill(placement.hidden.clone(), f32::NEG_INFINITY);
        Block {
            rows,
            time,
            rotation: self.model.rope.at(placement.positions.clone(), dtype),
            bias: bias.reshape([rows, 1, 1, time, keys]),
        }
    }
}

impl CausalLm for Decoder {
    type Cache = KvCache;

    fn hidden(
        &self,
        tokens: Tensor<2, Int>,
        placement: &Placement,
        cache: Option<&mut KvCache>,
    ) -> Tensor<3> {
        self.run(tokens, placement, cache, |_| ())
    }

    fn stages(&self) -> usize {
        self.model.layers.len()
    }

    /// The first stage is embedding and first layer, the last ends with the norm.
    fn stage(
        &self,
        stage: usize,
        tokens: Tensor<2, Int>,
        placement: &Placement,
        input: Option<Tensor<3>>,
    ) -> Tensor<3> {
        let [rows, time] = tokens.dims();
        let stream = input.map_or_else(|| self.embed(tokens), |input| input.flatten(0, 1));
        let block = self.block(placement, stream.dtype());
        let stream = self.model.layers[stage].forward(stream, &block, None);
        let stream = match stage + 1 == self.stages() {
            true => self.model.norm.forward(stream),
            false => stream,
        };
        stream.reshape([rows as i32, time as i32, -1])
    }

    fn logits(&self, hidden: Tensor<2>) -> Tensor<2> {
        multiply(hidden, self.packed_head.as_ref(), || self.head().transpose())
    }

    fn score(
        &self,
        hidden: Tensor<2>,
        tokens: Tensor<1, Int>,
        softmax: &ActionSoftmax,
    ) -> LogitScores {
        let reads = HeadReads {
            temperature: softmax.temperature,
            value_tokens: softmax.value_tokens.map(|tokens| [tokens.plus(), tokens.minus()]),
        };
        match head_scores(hidden.clone(), self.head(), tokens.clone(), reads) {
            Some(HeadScores { log_probs, entropy, value_logits }) => {
                LogitScores { log_probs, entropy, value_logits }
            }
            None => softmax.score(self.logits(hidden), tokens),
        }
    }

    fn vocabulary(&self) -> usize {
        self.rows()
    }
}

#[cfg(test)]
mod tests;
